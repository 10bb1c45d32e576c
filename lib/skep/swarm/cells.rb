# frozen_string_literal: true

# Where on the shared page a process and its worker threads write:
# one cell for the process, then one a thread.
#
#   cells = Cells.new(nodes: 4, threads: 5)
#   cells.total                 # => 24, what the page must hold
#   cells.of(3)                 # => 18, its own cell of the process in slot 3
#   cells.of(3, thread: 2)      # => 20, its second worker thread's
module Skep
  class Swarm
    class Cells
      BUSY_UNTIL = 2 # monotonic nanoseconds until which no beat is owed
      DONE = 3       # messages or items done since boot
      HELD_SINCE = 4 # monotonic nanoseconds since something is in hand; 0: nothing is
      ILL_SINCE = 5  # monotonic nanoseconds of an `unhealthy!` without progress since; 0: well

      attr_reader :nodes #: Integer
      attr_reader :threads #: Integer

      def initialize(nodes:, threads:) #: (nodes: Integer, threads: Integer) -> void
        @nodes = nodes
        @threads = threads
      end

      def total = @nodes * (1 + threads) #: () -> Integer

      def of(node, thread: 0) #: (Integer, ?thread: Integer) -> Integer
        if thread > threads || node >= @nodes
          raise ArgumentError, "no cell for thread #{thread} of node #{node}"
        end

        (node * (1 + threads)) + thread
      end

      # All cells of a node.
      def all(node) = (of(node)..of(node, thread: threads)) #: (Integer) -> Range[Integer]
    end
  end
end
