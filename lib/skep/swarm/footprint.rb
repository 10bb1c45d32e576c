# frozen_string_literal: true

# What is known of one node's memory: what was measured, what was seen since, and how it went.
#
#   footprint = Footprint.new(resident, inherited: mold_resident.anonymous, now:)
#   footprint.seen(resident, now)      # cheap, at each look
#   footprint.measured(plain, now)     # what the node counted of itself, now and then
#   footprint.least; footprint.most    # bytes between which its USS is
#   footprint.to_plain                 # for `skep status`
#
# A page that is made is private, and one that a write makes private was counted before. So what
# anonymous memory has grown by since it was measured, USS has grown by at least. It only remembers.
module Skep
  class Swarm
    class Footprint
      COST = 1000.0    # a measurement may take the thousandth part of the time until the next
      PAUSE = 1.0      # and they are so many seconds apart at least
      FIRST_DECAY = 1.0
      RATES = 8
      private_constant :COST, :PAUSE, :FIRST_DECAY, :RATES

      attr_reader :born_at #: Float, when it was first seen
      attr_reader :measurable_at #: Float, when it may be measured again
      attr_reader :decay #: Array[Hash], private and shared bytes at ages 1, 2, 4, 8… seconds
      attr_reader :growth #: Growth

      # inherited: anonymous bytes of the mold, which the node shared when it was forked.
      def initialize(resident, inherited:, now:)
        @born_at = @measurable_at = now
        @resident = @first = resident
        @inherited = inherited
        @seen_at = now
        @rates = []
        @decay = []
        @growth = Growth.new(now)
        @growth.add(resident.anonymous, now)
      end

      # What it has in memory, shared or not; the USS is no more.
      def most = @resident.rss #: () -> Integer

      # What is surely private; the USS is no less.
      def least #: () -> Integer
        return [@resident.anonymous - @inherited, 0].max unless @memory

        [@memory["uss"] + @resident.anonymous - @memory["anonymous"], 0].max
      end

      # What was surely private when it was young: what a successor will have.
      def fresh = @fresh || [@first.anonymous - @inherited, 0].max #: () -> Integer

      # The fastest growth of the last looks, bytes a second.
      def rate = @rates.max || 0.0 #: () -> Float

      def seen(resident, now) #: (OS::Resident, Float) -> void
        seconds = now - @seen_at
        @rates << ((resident.anonymous - @resident.anonymous) / seconds) if seconds.positive?
        @rates.shift if @rates.size > RATES
        @resident = resident
        @seen_at = now
        @growth.add(resident.anonymous, now)
      end

      # It has been asked; nothing more is asked before it answers.
      def ask = @measurable_at = Float::INFINITY #: () -> void

      # plain: "rss", "pss", "uss", "shared", "swap", "anonymous" in bytes,
      # "seconds" that it took to count.
      def measured(plain, now) #: (Hash[String, untyped], Float) -> void
        @memory = plain
        @measured_at = now
        @measurable_at = now + [plain["seconds"] * COST, PAUSE].max
        @fresh ||= plain["uss"]
        remember(now)
      end

      # Is it time to record how far it has come apart from its mold?
      def decaying?(now) = now >= [@decay_at || @born_at, @measurable_at].max #: (Float) -> bool

      # Bytes as last measured, and how many seconds ago; nil before the first time.
      def to_plain(now) #: (Float) -> Hash[Symbol, untyped]?
        return unless @memory

        { rss: @memory["rss"], pss: @memory["pss"], uss: @memory["uss"],
          shared: @memory["shared"], swap: @memory["swap"],
          age: (now - @measured_at).round(3), decay: }
      end

      private

      def remember(now)
        return if @decay_at && now < @decay_at

        age = now - @born_at
        @decay << { age: age.round(3), uss: @memory["uss"], shared: @memory["shared"] }.freeze
        @decay_at = @born_at + [2 * age, FIRST_DECAY].max
      end
    end
  end
end
