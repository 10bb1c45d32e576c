# frozen_string_literal: true

# What a demo is to do: how much of everything, when a kill is due, and how far production may run
# ahead.
#
#   plan = Plan.new(messages: 1_000, nodes: 4, kills: 2)
#   plan.errors            # => sentences
#   plan.kill_at(0)        # => 250, so many messages processed make the first kill due
#   plan.allowed(100, 0)   # => 500, so many may have been produced by then
#
# It only reckons. Production stops before the slice of a kill that hasn't happened yet, so that no
# kill finds the work done already; and it never has more on the way than one partition of the
# embedded broker holds, since that one drops its oldest messages without a word.
module Skep
  module CLI
    class Demo
      class Plan
        PARTITIONS = 8
        LIMITS = { messages: 1..100_000_000, nodes: 1..1_000, kills: 0..10_000 }.freeze
        BROKERS = /\A[^\s,:]+:\d{1,5}(,[^\s,:]+:\d{1,5})*\z/
        HELD_BYTES = 4 * 1024 * 1024 # of the 5 MiB that a partition of the embedded broker keeps
        AHEAD = HELD_BYTES / (Orders::BYTES + Orders::OVERHEAD)
        private_constant :LIMITS, :BROKERS, :HELD_BYTES

        attr_reader :messages, :nodes, :kills #: Integer
        attr_reader :seed #: Integer?
        attr_reader :brokers #: String?, none for the embedded one

        #: (messages: Integer, nodes: Integer, kills: Integer, ?seed: Integer?, ?brokers: String?)
        #:   -> void
        def initialize(messages:, nodes:, kills:, seed: nil, brokers: nil)
          @messages = messages
          @nodes = nodes
          @kills = kills
          @seed = seed
          @brokers = brokers
          freeze
        end

        def partitions = PARTITIONS #: () -> Integer

        # What can't be, a sentence each.
        def errors #: () -> Array[String]
          wrong = LIMITS.reject { |name, range| range.cover?(public_send(name)) }
          wrong = wrong.map do |name, range|
            "--#{name} #{public_send(name)} can't be: give #{range.min} to #{range.max}"
          end
          return wrong if brokers.nil? || brokers.match?(BROKERS)

          wrong << "--brokers #{brokers.inspect} can't be: give HOST:PORT"
        end

        # So many messages processed make kill number `index`, from 0, due: the middle of its slice.
        def kill_at(index) = messages * (2 * index + 1) / (2 * kills) #: (Integer) -> Integer

        # So many messages may have been produced once so many are processed and so many kills done.
        def allowed(processed, killed) #: (Integer, Integer) -> Integer
          [messages, processed + AHEAD, slice_end(killed)].min
        end

        private

        def slice_end(index)
          index < kills ? (messages * (index + 1)).fdiv(kills).ceil : messages
        end
      end
      private_constant :Plan
    end
  end
end
