# frozen_string_literal: true

# Which topics jobs go through: one for each queue, one for each delay, one for jobs that can't be
# done. Pure.
#
#   topics = Topics.new("jobs.", [5, 60])
#   topics.of("mailers")   # => "jobs.mailers"
#   topics.dead            # => "jobs.dead"
#   topics.delayed         # => { "jobs.delay-5s" => 5, "jobs.delay-60s" => 60 }
#
# Raises BadQueue for a queue that no topic can be named after.
module Skep
  module Rails
    class Topics
      DEAD = "dead"
      DELAY = "delay-%ss"
      LEGAL = /\A[a-zA-Z0-9._-]{1,249}\z/ # Kafka's names of topics
      RESERVED = /\A(?:dead|delay-[\d.]+s)\z/
      private_constant :DEAD, :DELAY, :LEGAL, :RESERVED

      attr_reader :delayed #: Hash[String, Numeric], the seconds of each topic of delays, by topic

      def initialize(prefix, delays) #: (String, Array[Numeric]) -> void
        @prefix = prefix
        @delayed = delays.sort.to_h { |seconds| [format("#{prefix}#{DELAY}", seconds), seconds] }
      end

      def of(queue) #: (String) -> String
        name = "#{@prefix}#{queue}"
        reserved = queue.match?(RESERVED)
        raise BadQueue.new(queue:, reserved:) if reserved || !name.match?(LEGAL)

        name
      end

      def dead = "#{@prefix}#{DEAD}" #: () -> String

      def inspect = "#<Skep::Rails::Topics #{@prefix}*>" #: () -> String
    end
    private_constant :Topics
  end
end
