# frozen_string_literal: true

# The helper's road to what the supervisor knows: it asks over its own channel, as it may be another
# user than the one to whom the status socket belongs.
#
#   line = Line.new(report)
#   line.ask(2.0)         # => the swarm as `skep status --json` tells it; nil: no answer in time
#   line.hear(frame)      # the control thread's side: an answer has come
#
# One question at a time; further threads wait for their turn.
module Skep
  class Swarm
    class Line
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

      def hear(frame) = @answers.push(frame.facts) #: (Channel::Frame) -> void

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
