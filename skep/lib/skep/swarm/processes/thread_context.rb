# frozen_string_literal: true

require "delegate"

# The node for one worker thread of the work. It delegates to Node, but has its own heartbeat,
# `busy` and items in flight. A source with `threads: n` passes them to its handlers.
#
#   two = node.thread(2)              # 1 to n
#   two.in_flight("orders/0/17-42")   # from now on the supervisor watches this thread
#   handler.call(batch, two)          # two.beat and two.busy(for: 60) apply to this thread
#   two.in_flight(nil)
#
# A call of `two.beat` beats for this thread from any thread, such as a thread that the handler
# started. While the worker thread has items in flight, `node.beat` on it beats for the thread, too.
module Skep
  class Swarm
    module Processes
      class ThreadContext < SimpleDelegator
        def initialize(node, heartbeat)
          super(node)
          @heartbeat = heartbeat
        end

        def beat = @heartbeat.beat
        def current_item(number) = @heartbeat.current_item(number)
        def __spot = @heartbeat.spot

        def busy(**seconds, &block) = @heartbeat.busy(seconds.fetch(:for), &block)

        def wait(timeout = nil) = __getobj__.__wait(timeout, @heartbeat)
        def wait_for(ios, timeout = nil) = __getobj__.__wait_for(ios, timeout, @heartbeat)
        def unhealthy!(reason) = __getobj__.__unhealthy(reason, @heartbeat)

        def producer = @producer || __getobj__.producer
        def __lend(producer) = @producer = producer

        def in_flight(text, thread: nil)
          return __getobj__.in_flight(text, thread:) if thread

          __getobj__.__in_flight_next(@heartbeat, text)
          @heartbeat.in_flight(text)
          __getobj__.__holds(text.to_s.empty? ? nil : @heartbeat)
        end

        def processed(number = 1, thread: nil)
          return __getobj__.processed(number, thread:) if thread

          __getobj__.__counted(@heartbeat.processed(number))
        end
      end
    end
  end
end
