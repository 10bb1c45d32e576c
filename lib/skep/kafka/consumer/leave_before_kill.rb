# frozen_string_literal: true

# Takes leave of the group before a node is killed at its stop_timeout, as one is whose handler
# doesn't end: who is killed can't, and its partitions would wait for its session's end. What is in
# hand comes again elsewhere then, as it would after the kill.
#
#   leave_before_kill = LeaveBeforeKill.new(tools, rebalance_listener)
#   leave_before_kill.io; leave_before_kill.seconds_left    # when to look
#   leave_before_kill.look { |event| … }           # leaves, if it is time; the block serves the client
#   leave_before_kill.close
#
# Where somebody follows by the same name, at a restart, there is nothing to leave.
module Skep
  module Kafka
    class Consumer
      class LeaveBeforeKill
        BEFORE = 3.0 # seconds before the kill; of a short stop_timeout a quarter
        NOTE = "its handler doesn't end: the others have its partitions before it is killed"
        private_constant :BEFORE, :NOTE

        #: (Processing::Tools, RebalanceListener) -> void
        def initialize(tools, rebalance_listener)
          @child, @consumer, @report = tools.child, tools.consumer, tools.report
          @rebalance_listener = rebalance_listener
          @wakeup_pipe = Librdkafka::WakeupPipe.new
          @child.on_stop { ring }
        end

        def io = @wakeup_pipe.io #: () -> IO, readable at the stop

        # Until `look` has something to do; nil without that.
        def seconds_left #: () -> Float?
          left = @child.time_left
          return if left.nil? || @taken || (@consumer.stays? && !@child.for_good?)

          @before ||= [BEFORE, left / 4].min
          [left - @before, 0].max
        end

        def look(&) #: () { (Librdkafka::EventQueue::Event) -> void } -> void
          @wakeup_pipe.drain
          return unless seconds_left&.zero?

          @taken = true
          @report.tell(:kafka_farewell, level: :warn, note: NOTE)
          @rebalance_listener.drop
          @consumer.withdraw(@before, &)
        end

        def close #: () -> void
          @taken = @closed = true
          @wakeup_pipe.close
        end

        def inspect
          "#<Skep::Kafka::Consumer::LeaveBeforeKill#{" taken" if @taken}>"
        end #: () -> String

        private

        def ring
          @wakeup_pipe.wake unless @closed
        rescue IOError # closed this moment: the client is closing
          nil
        end
      end
    end
  end
end
