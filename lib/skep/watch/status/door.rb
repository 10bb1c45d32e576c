# frozen_string_literal: true

# Where clients of the status socket come in. They cost the supervisor one part in four of its time
# at the most: where they come in crowds they wait outside, and nodes don't.
#
#   door = Door.new(server, loop) { |socket| … }     # a client is in
#   door.spend { … }                                 # what it is then given costs time too
#
# Where there is no descriptor for a client, all wait for a while.
module Skep
  module Watch
    class Status
      class Door
        QUEUE = 128 # who wait outside: with the kernel's 4096 the last would wait for seconds
        SHARE = 4
        SPENT_SECONDS = 0.02 # that nobody minds
        FULL_SECONDS = 0.2
        private_constant :QUEUE, :SHARE, :SPENT_SECONDS, :FULL_SECONDS

        def self.queue = QUEUE #: () -> Integer

        #: (UNIXServer, OS::EventLoop) { (UNIXSocket) -> void } -> void
        def initialize(server, loop, &enter)
          @server = server
          @loop = loop
          @enter = enter
          @spent = 0.0
          @since = OS.now
          @watch = loop.watch(server) { accept }
        end

        # Processor time: a supervisor that was stopped meanwhile, or had to wait, hasn't spent it.
        def spend #: () { () -> void } -> void
          began = spent
          yield
        ensure
          @spent += spent - began
        end

        # Lets nobody in any more.
        def close = @watch.cancel #: () -> void

        private

        def spent = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

        def accept
          spend do
            socket = @server.accept_nonblock(exception: false)
            @enter.call(socket) unless socket == :wait_readable
          end
          ration if @spent > SPENT_SECONDS
        rescue Errno::EMFILE, Errno::ENFILE # it waits: we would be told of it all the time
          shut(FULL_SECONDS)
        rescue SystemCallError # the client has gone
          nil
        end

        def ration
          owed = (SHARE * @spent) - (OS.now - @since)
          @spent = 0.0
          @since = OS.now
          shut(owed) if owed.positive?
        end

        def shut(seconds)
          @watch.read = false
          @loop.after(seconds) { @watch.read = true }
        end
      end
      private_constant :Door
    end
  end
end
