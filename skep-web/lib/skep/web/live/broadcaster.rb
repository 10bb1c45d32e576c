# frozen_string_literal: true

module Skep
  class Web
    module Live
      # Connects open pages and swarms. One thread, which runs while a page is open, polls each
      # swarm once for all pages and sends every page what has changed.
      #
      #   broadcaster = Broadcaster.new(registry, 2.0)
      #   reservation = broadcaster.reserve(session)      # nil: too many pages are open
      #   broadcaster.add(socket, reservation)            # it owns both; closes it with the session
      #   broadcaster.disconnect(session.id)              # closes the pages of that session
      #   broadcaster.close
      class Broadcaster
        DISCOVERY = 5.0   # seconds between two looks for new swarms
        KEEPALIVE = 15.0  # seconds between two comments, or proxies close the connection
        private_constant :DISCOVERY, :KEEPALIVE

        def initialize(registry, interval)
          @registry = registry
          @interval = interval
          @lock = Mutex.new
          @pollers = {}
          @connections = []
          @limit = ConnectionLimit.new
        end

        def reserve(session)
          @limit.reserve(session.id, OS.now, ends_at: session.expires_at)
        end

        def add(socket, reservation)
          return socket.close unless @limit.confirm(reservation)

          thread.push([:connect, socket, reservation])
          wake
        rescue Threads::Background::Closed
          @limit.release(reservation)
          socket.close
        end

        def disconnect(owner)
          @lock.synchronize { @thread&.push([:disconnect, owner]) }
          wake
        rescue Threads::Background::Closed # all pages are closed
          nil
        end

        # Returns the last backtraces of that node that were requested.
        def backtraces(swarm, node) = @pollers[swarm]&.events&.backtraces(node)

        # Returns the facts of an event that pages show; nil: it isn't kept any more.
        def event(swarm, seq, time) = @pollers[swarm]&.events&.facts(seq, time)

        def close
          @closing = true
          @thread&.close(timeout: 0)
          wake
          @thread&.close(timeout: nil)
        end

        private

        def wake
          @waker&.write_nonblock("w", exception: false)
        rescue IOError, Errno::EPIPE # the thread has closed its last page, and reads its inbox next
          nil
        end

        # Started at the first page, so that a server which forks its workers has none before.
        def thread
          @lock.synchronize do
            @thread ||= Threads::Background.new("web", drain: 0) { |inbox| run(inbox) }
          end
        end

        def run(inbox)
          while (order = inbox.pop)
            serve(order, inbox)
          end
        end

        # From the first page to the end of the last.
        def serve(order, inbox)
          set_up(inbox)
          handle(*order)
          handle_all(inbox) # what came before the wake-up pipe was there
          @loop.turn until @closing || (@connections.empty? && inbox.empty?)
        ensure
          tear_down
        end

        def set_up(inbox)
          tear_down # in a forked child: what the parent had open
          @loop = OS::EventLoop.new
          @wake, @waker = OS.pipe
          @loop.watch(@wake) do
            @wake.read_nonblock(256, exception: false)
            handle_all(inbox)
          end
          discover
          keep_alive
        end

        def handle_all(inbox)
          while (order = inbox.pop(timeout: 0))
            handle(*order)
          end
        end

        def handle(command, subject, reservation = nil)
          return connect(subject, reservation) if command == :connect

          @connections.each { |one| one.disconnect if one.reservation.owner == subject }
        end

        def connect(socket, reservation)
          connection = SseConnection.new(socket, @loop, reservation:) do |closed|
            @connections -= [closed]
            @limit.release(reservation)
          end
          @connections += [connection]
          connection.write("retry: 2000\n\n")
          connection.write(SseConnection.frame(swarms: @pollers.keys))
          @pollers.each_value { |poller| send_to([connection], poller.snapshot) }
        end

        def discover
          @registry.paths.each { |name, path| poll(name, path) unless @polled&.include?(name) }
          @loop.after(DISCOVERY) { discover }
        end

        def poll(name, path)
          @polled = [*@polled, name]
          poller = @pollers[name] ||
                   SwarmPoller.new(name, path, @interval) { |facts| send_all(facts) }
          @pollers = { **@pollers, name => poller }
          send_all(poller.snapshot)
          poller.start(@loop)
        end

        def send_all(facts) = send_to(@connections, facts)

        # No JSON is made for nobody.
        def send_to(connections, facts)
          return if connections.empty?

          frame = SseConnection.frame(facts)
          connections.each { |connection| connection.write(frame, whole: facts.key?(:series)) }
        end

        def keep_alive
          @loop.after(KEEPALIVE) do
            @connections.each { |connection| connection.write(":\n\n") }
            keep_alive
          end
        end

        def tear_down
          @connections.each { |one| one.close && @limit.release(one.reservation) }
          @pollers.each_value(&:stop)
          @connections = []
          @polled = nil
          @loop&.close
          [@wake, @waker].compact.each(&:close)
        end
      end
    end
  end
end
