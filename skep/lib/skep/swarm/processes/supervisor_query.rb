# frozen_string_literal: true

# Asks the supervisor for the swarm's status over the helper's channel: the helper may run as
# another user than the owner of the control socket.
#
#   query = SupervisorQuery.new(report)
#   query.ask(2.0)         # => as `skep status --json` prints it; nil: no answer in time
#   query.receive(frame)   # called by the control thread: an answer has come
#
# It asks one question at a time; other threads wait for their turn.
module Skep
  class Swarm
    module Processes
      class SupervisorQuery
        def initialize(report)
          @report = report
          @lock = Mutex.new
          @answers = Threads::Inbox.new
          @asked = 0
        end

        def ask(seconds)
          @lock.synchronize do
            @report.call("ask", { "number" => @asked += 1 })
            wait(OS.now + seconds)
          end
        end

        def receive(frame) = @answers.push(frame.facts)

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
