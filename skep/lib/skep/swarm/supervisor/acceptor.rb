# frozen_string_literal: true

# Accepts the clients of a listening socket in the supervisor's loop: one accepts those of the
# control socket, one those of the metrics. The clients of each take at most a quarter of the
# supervisor's processor time: beyond that, new ones wait in the socket's queue, and nodes are
# served first.
#
#   acceptor = Acceptor.new(server, loop) { |socket| … }   # called with each accepted socket
#   acceptor.charge { … }      # what a client is given is charged to the clients' share, too
#   acceptor.close
#
# Without a free descriptor it pauses.
module Skep
  class Swarm
    class Supervisor
      class Acceptor
        QUEUE = 128 # waiting clients: with the kernel's 4096 the last would wait for seconds
        SHARE = 4
        FREE_SECONDS = 0.02 # of processor time, before the share is enforced
        PAUSE_SECONDS = 0.2
        private_constant :QUEUE, :SHARE, :FREE_SECONDS, :PAUSE_SECONDS

        def self.queue = QUEUE

        def initialize(server, loop, &on_client)
          @server = server
          @loop = loop
          @on_client = on_client
          @spent = 0.0
          @since = OS.now
          @watch = loop.watch(server) { accept }
        end

        # Processor time, not time: a supervisor that was stopped meanwhile hasn't spent it.
        def charge
          started = processor_time
          yield
        ensure
          @spent += processor_time - started
        end

        # Accepts no further client.
        def close = @watch.cancel

        private

        def processor_time = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

        def accept
          charge do
            socket = @server.accept_nonblock(exception: false)
            @on_client.call(socket) unless socket == :wait_readable
          end
          enforce_share if @spent > FREE_SECONDS
        rescue Errno::EMFILE, Errno::ENFILE # the socket stays readable: this would repeat at once
          pause(PAUSE_SECONDS)
        rescue SystemCallError # the client has gone
          nil
        end

        def enforce_share
          owed = (SHARE * @spent) - (OS.now - @since)
          @spent = 0.0
          @since = OS.now
          pause(owed) if owed.positive?
        end

        def pause(seconds)
          @watch.read = false
          @loop.after(seconds) { @watch.read = true }
        end
      end
    end
  end
end
