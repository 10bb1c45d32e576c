# frozen_string_literal: true

# What the helper process does:
# runs the users' event blocks, `swarm.on(:event) { |facts| … }`, one event after another, passes
# each on (Swarm.pass_on_with), and lets a service serve at the socket that the supervisor lends
# (Swarm.serve_with).
#
#   HelperMain.new(swarm.listeners, child, line:).run
#                       # until stop, and all that was heard before is told
#
# A block that raises is an event itself, and the next one is run all the same.
module Skep
  class Swarm
    module InNode
      class HelperMain
        #: (Hash[String, Array[Proc]], Child, line: SupervisorQuery, ?service: untyped,
        #:  ?bridge: untyped) -> void
        def initialize(listeners, child, line:, service: Swarm.service, bridge: Swarm.bridge)
          @listeners = listeners
          @child = child
          @line = line
          @service, @bridge = service, bridge
          @inbox = Threads::Inbox.new
          child.on_stop { @inbox.close }
        end

        # The control thread's side.
        def hear(frame) #: (IPC::Channel::Message) -> void
          case frame.type
          when "answer" then @line.hear(frame)
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
          @server = @service.start(socket, @line)
        rescue StandardError, LoadError => e # a library's: it is told, and the blocks still run
          @child.event(:metrics_failed, level: :error, error: IPC::PlainData.error(e))
        end

        def tell(name, facts)
          @listeners.fetch(name, []).each { |block| guard("on(#{name})") { block.call(facts) } }
          guard("#{name}.skep") { @bridge&.tell(name, facts) }
        end

        def guard(hook)
          yield
        rescue StandardError => e # a user's block: its failure is told, and the others still run
          @child.event(:hook_failed, level: :error, hook:, error: IPC::PlainData.error(e),
                                     at: e.backtrace&.first)
        end
      end

      # The helper's road to what the supervisor knows: it asks over its own channel, as it may be
      # another user than the one to whom the status socket belongs.
      #
      #   line = SupervisorQuery.new(report)
      #   line.ask(2.0)      # => the swarm as `skep status --json` tells it; nil: no answer in time
      #   line.hear(frame)   # the control thread's side: an answer has come
      #
      # One question at a time; further threads wait for their turn.
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

        # One that came too late is an older question's.
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
