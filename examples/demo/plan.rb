# frozen_string_literal: true

# The plan of a run: how many messages, nodes and kills, when a kill is due, and how far writing may
# be ahead of the nodes.
#
#   plan = Plan.new(messages: 1_000, nodes: 4, kills: 2)
#   plan.errors            # => sentences
#   plan.kill_at(0)        # => 250: the first kill is due when that many messages are processed
#   plan.allowed(100, 0)   # => 500: so many may be written by then
#
# Writing stops before the slice of the next kill, so that no kill finds all work done.
module Skep
  module Demo
    Plan = Struct.new(:messages, :nodes, :kills, :brokers, keyword_init: true)

    class Plan
      LIMITS = { messages: 1..100_000_000, nodes: 1..1_000, kills: 0..10_000 }.freeze
      BROKERS = /\A[^\s,:]+:\d{1,5}(,[^\s,:]+:\d{1,5})*\z/
      # A partition of the embedded broker keeps 5 MiB and drops its oldest messages. All that is
      # ahead may be in one.
      AHEAD = 4 * 1024 * 1024 / (Topic::BYTES + Topic::OVERHEAD)
      private_constant :LIMITS, :BROKERS

      def errors
        wrong = LIMITS.reject { |name, range| range.cover?(self[name]) }.map do |name, range|
          "--#{name} must be between #{range.min} and #{range.max} (got #{self[name]})"
        end
        return wrong if brokers.nil? || brokers.match?(BROKERS)

        wrong << "--brokers must be HOST:PORT (got #{brokers})"
      end

      # In the middle of the slice of kill number `index`, from 0.
      def kill_at(index) = messages * (2 * index + 1) / (2 * kills)

      def allowed(processed, killed)
        slice_end = killed < kills ? (messages * (killed + 1)).fdiv(kills).ceil : messages
        [processed + AHEAD, slice_end].min
      end
    end
  end
end
