# frozen_string_literal: true

# How often each event was reported, from the swarm's first on.
#
#   event_counter = EventCounter.new   # one of the observers
#   event_counter.counts               # => { "node_died" => 3, … }
#
# A work may give its events names as it likes: past MOST of them, further ones count as
# "other".
module Skep
  class Swarm
    class Supervisor
      class EventCounter < Observer
        MOST = 200
        OTHER = "other"
        private_constant :MOST, :OTHER

        attr_reader :counts

        def initialize
          super
          @counts = Hash.new(0)
        end

        # level and facts aren't needed to count it.
        def event(name, _level = nil, _facts = nil)
          name = OTHER unless @counts.key?(name) || @counts.size < MOST
          @counts[name] += 1
        end
      end
    end
  end
end
