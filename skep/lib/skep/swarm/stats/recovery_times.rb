# frozen_string_literal: true

module Skep
  class Swarm
    module Stats
      # Measures how long slots are without a working node: from the exit of a node until the next
      # node of its slot is ready, including failed attempts to boot.
      #
      #   recovery_times = RecoveryTimes.new
      #   recovery_times.lost(node, now)        # a node has exited
      #   recovery_times.ready(node, now)       # the next node of its slot is ready
      #   recovery_times.forget(slot)           # the slot is removed
      #   recovery_times.to_plain               # => Histogram of all slots, as plain data
      #
      # The exit of a node that was never ready doesn't count. Nor does that of a node that is being
      # replaced: its successor is ready already.
      class RecoveryTimes
        def initialize
          @lost = {}
          @histogram = Histogram.new
        end

        def lost(node, now)
          slot = node.slot
          return if node != slot.node || node.retired? || node.kind_of_death != "work"

          @lost[slot.label.to_s] ||= now unless slot.helper? || slot.spare?
        end

        def ready(node, now)
          at = @lost.delete(node.label.to_s) or return
          @histogram.add(((now - at) * 1e9).round)
        end

        def forget(slot) = @lost.delete(slot.label.to_s)

        def to_plain = @histogram.to_plain

        def inspect = "#<#{self.class} #{@histogram.count}>"
      end
    end
  end
end
