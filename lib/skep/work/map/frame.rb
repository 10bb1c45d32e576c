# frozen_string_literal: true

module Skep
  module Work
    class Map
      # What crosses between a map and its nodes: a head of 64-bit numbers, then so many bytes of
      # cargo as its last says.
      #
      #   order    place of the first item, number of items, lane (see Claims), bytes
      #   report   lane, number of items done, kind, nanoseconds it took, bytes
      module Frame
        ORDER = "Q<4"
        ORDER_BYTES = 32
        REPORT = "Q<5"
        REPORT_BYTES = 40

        # Kinds of reports. HELLO has the node's pid for a lane.
        RESULTS = 0 # of the items done; no cargo when none are wanted
        RAISED = 1  # by the item after those done: their results, and the exception
        STOPPED = 2 # the same with what Stop was raised with
        HELLO = 3
      end
      private_constant :Frame
    end
  end
end
