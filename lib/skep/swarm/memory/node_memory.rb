# frozen_string_literal: true

# What is known of one node's memory: what was measured, what was seen since, and how it went.
#
#   node_memory = NodeMemory.new(resident, sharers: 4, now:)
#   node_memory.seen(resident, now)       # cheap, at each look
#   node_memory.measured(plain, now)      # what the node counted of itself, now and then; or {}
#   node_memory.least; node_memory.most   # bytes between which its USS is
#   node_memory.to_plain                  # for `skep status`
#
# A page that is made is private, and one that a write makes private was counted before. So what
# anonymous memory has grown by since it was measured, USS has grown by at least. It only remembers.
module Skep
  class Swarm
    module Memory
      class NodeMemory
        include Runtime::Persisted

        KEPT = %i[born_at measurable_at seen_at cost rates fresh memory measured_at
                  refresh_at decay_at condemned rest grown asked_at].freeze
        COST = 1000.0    # all measurements together may take the thousandth part of a processor
        PAUSE = 1.0..60.0 # and they are a tenth of its age apart at least, within these seconds
        REFRESH = 300.0  # and so many seconds apart at most, once it is that old
        RATES = 8
        YOUNG = 10.0     # seconds
        STILL = 1 << 20  # bytes: less is what waiting itself takes
        private_constant :COST, :PAUSE, :REFRESH, :RATES, :YOUNG, :STILL

        attr_reader :born_at #: Float, when it was first seen
        attr_reader :decay #: Array[Hash], private and shared bytes at ages that double

        # sharers: how many processes are measured, each of which may cost its part; rest: seconds
        # between two measurements at least while it keeps still.
        def initialize(resident, now:, sharers: 1, rest: 0.0)
          @born_at = @measurable_at = @seen_at = now
          @rest = rest
          @resident = @first = resident
          @cost = COST * sharers
          @rates = []
          @decay = []
          @fresh = least
        end

        def dump #: () -> Hash[String, untyped]
          { **super, "resident" => @resident.to_a, "first" => @first.to_a, "decay" => @decay }
        end

        def self.restore(plain) #: (Hash[String, untyped]) -> NodeMemory
          new(OS::Memory::Statm.new(rss: 0, anonymous: 0), now: plain["born_at"]).restore(plain)
        end

        def restore(plain) #: (Hash[String, untyped]) -> self
          @resident, @first = %w[resident first].map do |name|
            OS::Memory::Statm.new(**%i[rss anonymous].zip(plain[name]).to_h)
          end
          @decay = plain["decay"].map { |facts| facts.transform_keys(&:to_sym).freeze }
          super
        end

        # For MemoryLimitPolicy.
        def facts #: () -> MemoryLimitPolicy::Facts
          MemoryLimitPolicy::Facts.new(least:, most:, rate:, ready_at: @born_at,
                                       measurable_at:, still: grown < STILL)
        end

        # What it has in memory, shared or not; the USS is no more.
        def most = @resident.rss #: () -> Integer

        # What is surely private; the USS is no less. (Before it is measured: what came since.)
        def least #: () -> Integer
          uss, anonymous = @memory&.values_at("uss", "anonymous") || [0, @first.anonymous]
          [uss + @resident.anonymous - anonymous, 0].max
        end

        # Have its pages been counted?
        def measured? = !@memory.nil? #: () -> bool

        # What it had of its own when it was young, at the most: what a successor will have.
        attr_reader :fresh #: Integer

        # The fastest growth of the last looks, bytes a second.
        def rate = @rates.max || 0.0 #: () -> Float

        def seen(resident, now) #: (OS::Memory::Statm, Float) -> void
          seconds = now - @seen_at
          @grown = resident.anonymous - @resident.anonymous
          @rates << (@grown / seconds) if seconds.positive?
          @rates.shift if @rates.size > RATES
          @resident = resident
          @seen_at = now
          ripen(now)
        end

        # It has been asked; nothing more is asked before it answers.
        def ask(now) = @asked_at = now #: (Float) -> void

        # For how many seconds has an answer been owed? nil: none is.
        def waited(now) = @asked_at && (now - @asked_at) #: (Float) -> Float?

        # plain: "rss", "pss", "uss", "shared", "swap", "anonymous" in bytes,
        # "seconds" that it took to count. What isn't newer than what is known changes nothing.
        # Empty: the node couldn't count its pages, and is asked again after a pause.
        def measured(plain, now) #: (Hash[String, untyped], Float) -> void
          return unmeasured(now) if plain.empty?
          return if now <= (@measured_at || @born_at)

          @asked_at = nil
          @memory = plain
          @measured_at = now
          @measurable_at = now + [plain["seconds"] * @cost, pause(now)].max
          ripen(now)
          remember(now)
        end

        # Is it time to measure it, be it only for the record?
        def stale?(now) #: (Float) -> bool
          now >= measurable_at && (@memory.nil? || now >= @refresh_at)
        end

        # Has it as much as when it was measured?
        def still? #: () -> bool
          measured? && (@resident.anonymous - @memory["anonymous"]).abs < STILL &&
            (@resident.rss - @memory["rss"]).abs < STILL
        end

        # It is being stopped, whatever comes.
        def condemn = @condemned = true #: () -> void
        def condemned? = @condemned ? true : false #: () -> bool

        # Bytes as far as known now: measured so many seconds ago, and what was seen since. What
        # isn't known before the first time is nil.
        def to_plain(now) #: (Float) -> Hash[Symbol, untyped]
          age = (now - @measured_at).round(3) if measured?
          { rss: most, **parts, measured: age, decay: }
        end

        private

        # Bytes, since the look before.
        def grown = @grown || 0

        def measurable_at
          return Float::INFINITY if @asked_at

          still? ? [@measurable_at, @measured_at + @rest].max : @measurable_at
        end

        def parts
          return { pss: nil, uss: nil, shared: nil, swap: nil } unless measured?

          uss = [least, most].min
          { pss: [@memory["pss"] + uss - @memory["uss"], uss].max, uss:, shared: most - uss,
            swap: @memory["swap"] }
        end

        def unmeasured(now)
          return unless @asked_at && now > @asked_at

          @asked_at = nil
          @measurable_at = now + pause(now)
        end

        def ripen(now)
          @fresh = [@fresh, least].max if now - @born_at < YOUNG
        end

        def pause(now) = ((now - @born_at) / 10).clamp(PAUSE)

        def remember(now)
          age = [now - @born_at, PAUSE.min].max
          @refresh_at = now + [age, REFRESH].min
          return if @decay_at && now < @decay_at

          @decay << { age: age.round(3), uss: @memory["uss"], shared: @memory["shared"] }.freeze
          @decay_at = @born_at + (2 * age)
        end
      end
    end
  end
end
