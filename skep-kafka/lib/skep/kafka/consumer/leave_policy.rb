# frozen_string_literal: true

# Says whether a stopping node keeps its place in its group, as a static member, or leaves the group
# for good. A node leaves at its end. But if a handler doesn't return, it leaves shortly before
# stop_timeout: then it is killed, and a killed node can't leave, so its partitions would wait for
# the end of its session.
#
#   leave_policy = LeavePolicy.new(node:, consumer:, leave_on_stop: false)
#   leave_policy.keeps_place?
#   leave_policy.io; leave_policy.seconds_left   # once io is readable, or no second is left:
#   leave_policy.due?
#   leave_policy.begin_leave   # => seconds that leaving may take; not due any more
#   leave_policy.close
module Skep
  module Kafka
    class Consumer
      class LeavePolicy
        MARGIN = 3.0 # seconds before the kill; of a short stop_timeout a quarter
        private_constant :MARGIN

        def initialize(node:, consumer:, leave_on_stop:)
          @node, @consumer, @leave_on_stop = node, consumer, leave_on_stop
          @wakeup_pipe = Librdkafka::WakeupPipe.new
          @node.on_stop { wake }
        end

        # Returns true for a static member under whose name a node comes back: it has its partitions
        # at once then. Nobody does after a scaling down, nor after a stop with `leave_on_stop`.
        def keeps_place?
          @consumer.static_member? && !@node.scaling_down? && !(@leave_on_stop && @node.__all_stop?)
        end

        def io = @wakeup_pipe.io # readable at the stop

        # Until it is due; nil if it won't be.
        def seconds_left
          left = @node.time_left
          return if left.nil? || @done || keeps_place?

          @margin ||= [MARGIN, left / 4].min
          [left - @margin, 0].max
        end

        def due?
          @wakeup_pipe.drain
          seconds_left&.zero? || false
        end

        def done? = @done ? true : false # true once the node has left so

        def begin_leave
          @done = true
          @margin
        end

        def close
          @done = @closed = true
          @wakeup_pipe.close
        end

        def inspect
          "#<Skep::Kafka::Consumer::LeavePolicy#{" done" if @done}>"
        end

        private

        def wake
          @wakeup_pipe.wake unless @closed
        rescue IOError # closed at this moment: the client is closing
          nil
        end
      end
    end
  end
end
