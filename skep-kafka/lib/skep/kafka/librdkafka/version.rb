# frozen_string_literal: true

# A version of librdkafka: whether skep supports it, and what it lacks.
#
#   version = Version.of(Bindings.rd_kafka_version)   # 0x020b00ff
#   version.to_s         # => "2.11.0"
#   version.supported?
#   version.lacks        # => ["… (2.12)", "… (2.13.2)"], [] for a new one
#
# LACKS has only what concerns skep's use of librdkafka; its changelog has the rest.
module Skep
  module Kafka
    module Librdkafka
      class Version
        include Comparable

        OLDEST = [2, 11, 0].freeze
        OLDEST_GEM = "0.21" # of karafka-rdkafka, with OLDEST
        COMPLETE_GEM = "0.28" # the oldest one that lacks nothing of LACKS
        LACKS = {
          [2, 12, 0] => [
            "\"group.protocol\": \"consumer\" (KIP-848) as a stable feature",
            "a fix for commits that report the error of an earlier one"
          ],
          [2, 13, 2] => [
            "a fix for positions that move past an error",
            "a fix for 30% more CPU while a pattern matches no topic"
          ],
          [2, 14, 2] => [
            "a fix for a crash if a member leaves while its coordinator is unavailable"
          ]
        }.freeze

        # number: what rd_kafka_version returns, 0xMMmmrrxx.
        def self.of(number) = new([24, 16, 8].map { |bits| (number >> bits) & 0xff })

        attr_reader :parts

        # parts: major, minor and revision.
        def initialize(parts)
          @parts = parts
        end

        def <=>(other) = parts <=> other.parts

        def supported? = (parts <=> OLDEST) >= 0

        # Returns what it lacks of newer versions, each with the first version that has it.
        def lacks
          newer = LACKS.select { |since, _| (parts <=> since).negative? }
          newer.map do |since, what|
            "#{what.join(" and ")} (#{since.join(".").delete_suffix(".0")})"
          end
        end

        # Returns a sentence on what it lacks and which gem has it; nil if it lacks nothing known.
        # gem: with its version, such as "karafka-rdkafka 0.21.0".
        def warning(gem:)
          return if lacks.empty?

          "librdkafka #{self} (#{gem}) lacks #{lacks.join("; ")}. The gem karafka-rdkafka " \
            "#{COMPLETE_GEM} or newer, which needs Ruby 3.2, has all of it"
        end

        def to_s = parts.join(".")
        def inspect = "#<#{self.class} #{self}>"
      end
    end
  end
end
