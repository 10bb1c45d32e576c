# frozen_string_literal: true

# Where on the shared page a process and its worker threads write:
# one cell for the process, then one a thread; and at the end one for what its memory is.
#
#   layout = Layout.new(nodes: 4, threads: 5)
#   layout.total                 # => 28, what the page must hold
#   layout.of(3)                 # => 18, its own cell of the process in slot 3
#   layout.of(3, thread: 2)      # => 20, its second worker thread's
#   layout.memory(3)             # => 27, where it leaves what it has counted (MemorySample)
module Skep
  class Swarm
    module IPC
      module Scoreboard
        class Layout
          BUSY_UNTIL = 2 # monotonic nanoseconds until which no beat is owed
          DONE = 3       # messages or items done since boot
          HELD_SINCE = 4 # monotonic nanoseconds since something is in hand; 0: nothing is
          ILL_SINCE = 5  # monotonic nanoseconds of an `unhealthy!` without progress since; 0: well
          AT = 6         # which part of what is in hand was given out last, plus one; 0: all of it

          attr_reader :nodes #: Integer
          attr_reader :threads #: Integer

          def initialize(nodes:, threads:) #: (nodes: Integer, threads: Integer) -> void
            @nodes = nodes
            @threads = threads
          end

          def total = @nodes * (2 + threads) #: () -> Integer

          def of(node, thread: 0) #: (Integer, ?thread: Integer) -> Integer
            if thread > threads || node >= @nodes
              raise ArgumentError, "no cell for thread #{thread} of node #{node}"
            end

            (node * (1 + threads)) + thread
          end

          def memory(node) = (@nodes * (1 + threads)) + node #: (Integer) -> Integer

          # All cells of a node's pulses.
          def all(node) = (of(node)..of(node, thread: threads)) #: (Integer) -> Range[Integer]
        end
      end
    end
  end
end
