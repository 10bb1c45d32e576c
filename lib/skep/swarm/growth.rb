# frozen_string_literal: true

require "skep/swarm/growth/row"
require "skep/swarm/growth/life"

# How a number of bytes went since the beginning: its whole life in a dozen stretches of time, and
# the last of it in rows of six, some short, some long. Of each stretch the least and the most.
#
#   growth = Growth.new(now)
#   growth.add(bytes, now)
#   growth.life     # => [#<struct at=0.0, least=…, most=…>, …], at: seconds since the beginning
#   growth.rows     # => [[six of those], …], those that are full
#
# Only stretches that are over are told. It takes as little room for a month as for a minute.
module Skep
  class Swarm
    class Growth
      include Kept

      KEPT = %i[began_at].freeze

      Stretch = Struct.new(:at, :least, :most) do
        def add(bytes) #: (Integer) -> void
          self.least = bytes if bytes < least
          self.most = bytes if bytes > most
        end
      end

      LENGTHS = [2.5, 10.0, 40.0, 160.0].freeze # seconds of a row's stretches
      private_constant :LENGTHS

      def initialize(now) #: (Float) -> void
        @began_at = now
        @life = Life.new
        @rows = LENGTHS.map { |seconds| Row.new(seconds) }
      end

      def add(bytes, now) #: (Integer, Float) -> void
        [@life, *@rows].each { |part| part.add(bytes, age(now)) }
      end

      def keep #: () -> Hash[String, untyped]
        { **super, "life" => @life.keep, "rows" => @rows.map(&:keep) }
      end

      def recall(plain) #: (Hash[String, untyped]) -> self
        @life.recall(plain["life"])
        @rows.zip(plain["rows"]) { |row, kept| row.recall(kept) }
        super
      end

      def life = @life.stretches #: () -> Array[Stretch]
      def rows = [*@rows.filter_map(&:stretches), *late_life] #: () -> Array[Array[Stretch]]
      def age(now) = now - @began_at #: (Float) -> Float

      # The deepest it has fallen.
      def fall #: () -> Integer
        peak = 0
        @life.stretches.map { |one| [(peak = [peak, one.most].max) - one.least, 0].max }.max || 0
      end

      private

      def late_life = life.size >= Row::SIZE ? [life.last(Row::SIZE)] : []
    end
  end
end
