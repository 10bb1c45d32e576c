# frozen_string_literal: true

# How long slots were without a node that works: from the notice of an end to the readiness of who
# follows, however many tries that takes.
#
#   recovery_times = RecoveryTimes.new
#   recovery_times.lost(node, now)        # it has ended
#   recovery_times.ready(node, now)       # who has the slot now is ready
#   recovery_times.forget(slot)           # it is given up
#   recovery_times.to_plain               # => Histogram's, of all slots together
#
# One that was never ready takes nothing away by its end, nor one that is replaced while it works.
module Skep
  class Swarm
    module Stats
      class RecoveryTimes
        include Runtime::Persisted

        KEPT = %i[lost].freeze

        def initialize #: () -> void
          @lost = {}
          @histogram = Histogram.new
        end

        def lost(node, now) #: (Nodes::NodeProcess, Float) -> void
          slot = node.slot
          return if node != slot.node || node.retired? || node.kind_of_death != "work"

          @lost[slot.label.to_s] ||= now unless slot.helper? || slot.spare?
        end

        def ready(node, now) #: (Nodes::NodeProcess, Float) -> void
          at = @lost.delete(node.label.to_s) or return
          @histogram.add(((now - at) * 1e9).round)
        end

        def forget(slot) = @lost.delete(slot.label.to_s) #: (Nodes::Slot) -> void

        def to_plain = @histogram.to_plain #: () -> Hash[String, untyped]

        def dump = { **super, "histogram" => to_plain } #: () -> Hash[String, untyped]

        def restore(plain) #: (Hash[String, untyped]) -> self
          @histogram.merge(plain["histogram"])
          super
        end

        def inspect = "#<#{self.class} #{@histogram.count}>" #: () -> String
      end
    end
  end
end
