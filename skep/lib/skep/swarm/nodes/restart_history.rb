# frozen_string_literal: true

# When a slot's processes died: those that never got ready (a deploy's fault, or a database's)
# apart from those that died at work, and from those that refused to begin (BootError), which
# are no crashes.
#
#   deaths = RestartHistory.new
#   deaths.add("work", now, within: 60.0)
#   deaths.times       # => monotonic times within the window, of the kind that came last
#   deaths.counts      # => { "boot" => 0, "work" => 1 }, of all time; refusals don't count
module Skep
  class Swarm
    module Nodes
      class RestartHistory
        attr_reader :counts

        def initialize
          @times = { "boot" => [], "work" => [], "refusal" => [] }
          @counts = { "boot" => 0, "work" => 0 }
          @last = "boot"
        end

        def add(kind, now, within:)
          @last = kind
          @counts[kind] += 1 if @counts.key?(kind)
          times.shift while times.any? && times.first <= now - within
          times << now
        end

        # Clears so many of the last deaths at work: their cause is known.
        def clear_last(number) = @times["work"].pop(number)

        # kind: "boot", "work" or "refusal"; the one of the last death, if it isn't given.
        def times(kind = @last) = @times[kind] ||= []
      end
    end
  end
end
