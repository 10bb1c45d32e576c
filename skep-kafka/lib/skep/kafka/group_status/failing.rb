# frozen_string_literal: true

# Partitions of a topic in which messages fail for the same cause.
#
#   failing = GroupStatus::Failing.new("orders", "dependency", partitions)
#   failing.to_s   # => "orders, 12 partitions: dependency unavailable for 12 s"
module Skep
  module Kafka
    class GroupStatus
      class Failing
        attr_reader :topic, :cause

        def initialize(topic, cause, partitions)
          @topic, @cause, @partitions = topic, cause, partitions
        end

        # Returns true if a dependency is unavailable, or a part of it.
        def unavailable? = cause.end_with?("dependency")

        def to_s
          seconds = @partitions.map(&:failing_for).max
          "#{topic}#{place}: #{CAUSES.fetch(cause)} for #{seconds} s"
        end

        def inspect = "#<#{self.class} #{self}>"

        private

        def place
          return ", #{@partitions.size} partitions" if @partitions.size > 1

          one = @partitions.first
          "/#{one.number}, offset #{one.failing["offset"]}, attempt #{one.failing["attempt"]}"
        end
      end
    end
  end
end
