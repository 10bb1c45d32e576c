# frozen_string_literal: true

require "delegate"

# The child for one worker thread of the work. It delegates to Child, but has its own heartbeat,
# `busy` and items in flight. A source with `threads: n` passes them to its handlers.
#
#   lane = child.lane(2)              # 1 to n
#   lane.in_hand("orders/0/17-42")    # from now on the supervisor watches this thread
#   handler.call(batch, lane)         # lane.beat and lane.busy(for: 60) apply to this thread
#   lane.in_hand(nil)
#
# A call of `lane.beat` beats for this lane from any thread, such as a thread that the handler
# started. While the worker thread has items in flight, `child.beat` on it beats for its lane, too.
module Skep
  class Swarm
    module Processes
      class ThreadContext < SimpleDelegator
        def initialize(child, heartbeat) #: (Child, IPC::Scoreboard::Heartbeat) -> void
          super(child)
          @heartbeat = heartbeat
        end

        def beat = @heartbeat.beat #: () -> void
        def at(number) = @heartbeat.at(number) #: (Integer?) -> void
        def __spot = @heartbeat.spot #: () -> [Integer, Integer, Integer]?

        #: (for: Numeric) ?{ () -> untyped } -> untyped
        def busy(**seconds, &block) = @heartbeat.busy(seconds.fetch(:for), &block)

        def wait(timeout = nil) = __getobj__.__wait(timeout, @heartbeat)
        def wait_for(ios, timeout = nil) = __getobj__.__wait_for(ios, timeout, @heartbeat)
        def unhealthy!(reason) = __getobj__.__unhealthy(reason, @heartbeat)

        def producer = @producer || __getobj__.producer
        def __lend(producer) = @producer = producer

        def in_hand(text, thread: nil) #: (String?, ?thread: Integer?) -> void
          return __getobj__.in_hand(text, thread:) if thread

          @heartbeat.hold(text)
          __getobj__.__holds(text.to_s.empty? ? nil : @heartbeat)
        end

        def count(number = 1, thread: nil) #: (?Integer, ?thread: Integer?) -> void
          return __getobj__.count(number, thread:) if thread

          __getobj__.__counted(@heartbeat.count(number))
        end
      end
    end
  end
end
