# frozen_string_literal: true

# Assigns the cells: one for each process, one for each of its threads; then one for each process'
# memory sample, RECORDS for what its handlers do, and at the end of the page one of the
# supervisor's.
#
#   layout = Layout.new(nodes: 4, threads: 5)
#   layout.total                 # => 45, the cells that the page must hold
#   layout.of(3)                 # => 18, the cell of the process with page index 3
#   layout.of(3, thread: 2)      # => 20, the cell of its second worker thread
#   layout.memory(3)             # => 27, the cell of its memory sample
#   layout.records(3)            # => 40...44, the cells of its HandlerRecords
#   layout.shared                # => 44, what the supervisor tells all nodes
module Skep
  class Swarm
    module IPC
      module Scoreboard
        class Layout
          # The words of a cell. A time is monotonic nanoseconds; 0: never.
          BUSY_UNTIL = 2      # no beat is due until then
          DONE = 3            # number of messages or items done since boot
          IN_FLIGHT_SINCE = 4 # since when something is in flight
          UNHEALTHY_SINCE = 5 # time of an `unhealthy!` that no progress has followed
          CURRENT_ITEM = 6    # which part of it was given out last, plus 1; 0: all of it
          DONE_AT = 7         # when something was done last

          USED = 2    # a word of the supervisor's: how many page indices have been used
          RECORDS = 4 # of each process

          attr_reader :nodes
          attr_reader :threads

          def initialize(nodes:, threads:)
            @nodes = nodes
            @threads = threads
          end

          def total = shared + 1

          def of(node, thread: 0)
            if thread > threads || node >= @nodes
              raise ArgumentError, "no cell for thread #{thread} of node #{node}"
            end

            (node * (1 + threads)) + thread
          end

          def memory(node) = (@nodes * (1 + threads)) + node

          def records(node)
            first = (@nodes * (2 + threads)) + (node * RECORDS)
            first...(first + RECORDS)
          end

          def shared = @nodes * (2 + threads + RECORDS)

          # The cells of a process and of all its threads.
          def all(node) = (of(node)..of(node, thread: threads))
        end
      end
    end
  end
end
