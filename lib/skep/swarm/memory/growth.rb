# frozen_string_literal: true

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
    module Memory
      class Growth
        # All that was seen, in at most a dozen stretches: when the time of the last is over, each
        # two become one of twice the length.
        class History
          include IPC::Persisted

          KEPT = %i[seconds ranges].freeze
          STRETCHES = 12
          private_constant :STRETCHES

          def initialize #: () -> void
            @seconds = 1.0
            @ranges = []
          end

          def add(bytes, age) #: (Integer, Float) -> void
            halve while age >= STRETCHES * @seconds
            index = (age / @seconds).floor
            least, most = @ranges[index]
            @ranges[index] = [[least, bytes].compact.min, [most, bytes].compact.max]
          end

          def stretches #: () -> Array[Stretch]
            @ranges[0...-1].each_with_index.filter_map do |range, index|
              Stretch.new(index * @seconds, *range) if range
            end
          end

          private

          def halve
            @seconds *= 2
            @ranges = @ranges.each_slice(2).map do |pair|
              known = pair.compact
              [known.map(&:first).min, known.map(&:last).max] if known.any?
            end
          end
        end
        private_constant :History

        # The last six stretches of one length in which something was seen.
        class Series
          SIZE = 6

          def initialize(seconds) #: (Float) -> void
            @seconds = seconds
            @stretches = []
          end

          def dump = @stretches.map(&:to_a) #: () -> Array[Array[Numeric]]

          def restore(plain) #: (Array[Array[Numeric]]) -> void
            @stretches = plain.map { |numbers| Stretch.new(*numbers) }
          end

          def add(bytes, age) #: (Integer, Float) -> void
            at = (age / @seconds).floor * @seconds
            return @stretches.last.add(bytes) if @stretches.any? && @stretches.last.at == at

            @stretches << Stretch.new(at, bytes, bytes)
            @stretches.shift if @stretches.size > SIZE + 1
          end

          # The last one isn't over.
          def stretches = @stretches.size > SIZE ? @stretches.first(SIZE) : nil
        end
        private_constant :Series

        include IPC::Persisted

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
          @life = History.new
          @rows = LENGTHS.map { |seconds| Series.new(seconds) }
        end

        def add(bytes, now) #: (Integer, Float) -> void
          [@life, *@rows].each { |part| part.add(bytes, age(now)) }
        end

        def dump #: () -> Hash[String, untyped]
          { **super, "life" => @life.dump, "rows" => @rows.map(&:dump) }
        end

        def restore(plain) #: (Hash[String, untyped]) -> self
          @life.restore(plain["life"])
          @rows.zip(plain["rows"]) { |row, kept| row.restore(kept) }
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

        def late_life = life.size >= Series::SIZE ? [life.last(Series::SIZE)] : []
      end
    end
  end
end
