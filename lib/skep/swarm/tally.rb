# frozen_string_literal: true

# How often each event was told, from the swarm's first on.
#
#   tally = Tally.new                   # one of those who watch
#   tally.counts                        # => { "node_died" => 3, … }
#
# A work may give its events names as it likes: past MOST of them, further ones count as "other".
module Skep
  class Swarm
    class Tally < Observer
      MOST = 200
      OTHER = "other"
      private_constant :MOST, :OTHER

      attr_reader :counts #: Hash[String, Integer]

      def initialize #: () -> void
        super
        @counts = Hash.new(0)
      end

      def event(name, _level, _facts) #: (String, Symbol, Hash) -> void
        name = OTHER unless @counts.key?(name) || @counts.size < MOST
        @counts[name] += 1
      end

      def keep(_handover) = counts #: (Handover) -> Hash[String, Integer]

      def resumed(_supervisor, kept, _handover) #: (Supervisor, Hash?, Handover) -> void
        @counts.merge!(kept.to_h) { |_, now, before| now + before }
      end
    end
  end
end
