# frozen_string_literal: true

# The helper process: runs the users' blocks, `swarm.on(:event) { |facts| … }`, one event after
# another; passes each event on (Swarm.pass_on_with); and lets a service serve the socket that the
# supervisor lends it (Swarm.serve_with).
#
#   HelperMain.new(swarm.listeners, child, query:).run   # until stop and all events are handled
#
# A block that raises makes an event, and the next block runs all the same.
module Skep
  class Swarm
    module Processes
      class HelperMain
        #: (Hash[String, Array[Proc]], Child, query: SupervisorQuery, ?service: untyped,
        #:  ?bridge: untyped) -> void
        def initialize(listeners, child, query:, service: Swarm.service, bridge: Swarm.bridge)
          @listeners = listeners
          @child = child
          @query = query
          @service, @bridge = service, bridge
          @inbox = Threads::Inbox.new
          child.on_stop { @inbox.close }
        end

        # Called by the control thread.
        def hear(frame) #: (IPC::Channel::Message) -> void
          case frame.type
          when "answer" then @query.hear(frame)
          when "event", "serve" then @inbox.push(frame) unless @inbox.closed?
          end
        end

        def run #: () -> void
          @child.ready!
          until @inbox.closed? && @inbox.empty?
            frame = @inbox.pop(timeout: @child.beat_every)
            @child.beat
            obey(frame) if frame
          end
        ensure
          @server&.close
        end

        private

        def obey(frame)
          frame.type == "serve" ? serve(frame.ios.first) : tell(frame["name"], frame["facts"])
        end

        def serve(socket)
          raise Errno::EMFILE unless socket

          @server&.close
          @server = @service.start(socket, @query)
        rescue StandardError, LoadError => e # a library's: it is reported, and the blocks still run
          @child.event(:metrics_failed, level: :error, error: IPC::PlainData.error(e))
        end

        def tell(name, facts)
          @listeners.fetch(name, []).each { |block| guard("on(#{name})") { block.call(facts) } }
          guard("#{name}.skep") { @bridge&.tell(name, facts) }
        end

        def guard(hook)
          yield
        rescue StandardError => e # a user's block: it is reported, and the others still run
          @child.event(:hook_failed, level: :error, hook:, error: IPC::PlainData.error(e),
                                     at: e.backtrace&.first)
        end
      end

      # Asks the supervisor for the swarm's status over the helper's channel: the helper may run as
      # another user than the owner of the status socket.
      #
      #   query = SupervisorQuery.new(report)
      #   query.ask(2.0)      # => as `skep status --json` prints it; nil: no answer in time
      #   query.hear(frame)   # called by the control thread: an answer has come
      #
      # It asks one question at a time; other threads wait for their turn.
      class SupervisorQuery
        def initialize(report) #: (^(String, Hash) -> void) -> void
          @report = report
          @lock = Mutex.new
          @answers = Threads::Inbox.new
          @asked = 0
        end

        def ask(seconds) #: (Float) -> Hash[String, untyped]?
          @lock.synchronize do
            @report.call("ask", { "number" => @asked += 1 })
            wait(OS.now + seconds)
          end
        end

        def hear(frame) = @answers.push(frame.facts) #: (IPC::Channel::Message) -> void

        private

        # Ignores answers that came too late.
        def wait(deadline)
          while (left = deadline - OS.now).positive?
            answer = @answers.pop(timeout: left)
            return answer["status"] if answer && answer["number"] == @asked
          end
        end
      end
    end
  end
end
