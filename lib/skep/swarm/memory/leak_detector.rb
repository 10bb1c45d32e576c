# frozen_string_literal: true

# Judges whether a process' memory grows as that of one with a leak does.
# Pure: facts and a time in, a verdict out.
#
#   LeakDetector.new(limit: 512 << 20).verdict(growth, least, now)
#   # => nil, or #<struct bytes=12582912, rate=104857.6, seconds=4096.0>: grown by so much since the
#   #    beginning, so much a second, and so long until the limit (nil without one)
#
# What it looks at is anonymous memory. Pages that a write makes private were counted before the
# write, so the decay of what was shared at the fork is no growth. What else grows and is no leak:
#
# | | why it isn't taken for one |
# |---|---|
# | a heap between two collections | low points count, and must rise by more than it ever fell |
# | caches that fill after the boot | it must grow as fast as before, or nearly |
# | one job | it must grow for a minute, a quarter of its age, or as long as it has left |
module Skep
  class Swarm
    module Memory
      class LeakDetector
        Leak = Struct.new(:bytes, :rate, :seconds, keyword_init: true)

        STEADY = 0.6     # of the earlier growth
        SWING = 1.5      # times its deepest fall
        LEAST = 4 << 20  # bytes, and
        PART = 0.05      # of what it had at the beginning: less isn't worth a word
        SOON = 60.0
        OLD = 4.0
        LONG = 600.0     # seconds, which are enough at any age
        private_constant :STEADY, :SWING, :PART, :SOON, :OLD, :LONG

        def initialize(limit:) #: (limit: Integer?) -> void
          @limit = limit
        end

        # least: its private bytes now.
        def verdict(growth, least, now) #: (Growth, Integer, Float) -> Leak?
          life = growth.life
          worth = [LEAST, PART * (life.first&.least || 0), SWING * growth.fall].max
          row = growth.rows.find do |one|
            rising?(one, worth) && steady?(one, life) && long?(one, least, growth.age(now))
          end
          row && Leak.new(bytes: row.last.least - life.first.least, rate: slope(row),
                           seconds: @limit && left(row, least))
        end

        private

        def rising?(row, worth)
          gain(row) >= worth && row.each_cons(2).all? { |one, other| other.least > one.least }
        end

        # As fast as before, the boot and what follows it left out.
        def steady?(row, life)
          before = life.select { |one| one.at.between?(row.last.at / OLD, row.first.at) }
          before, row = row.each_slice(row.size / 2).to_a if before.size < 2
          slope(row) >= STEADY * slope(before)
        end

        def long?(row, least, age)
          enough = [SOON, [age / OLD, LONG].min].max
          enough = [enough, left(row, least)].min if @limit
          row.last.at - row.first.at >= enough
        end

        def left(row, least) = [(@limit - least) / slope(row), 0.0].max
        def gain(row) = row.last.least - row.first.least
        def slope(row) = gain(row) / (row.last.at - row.first.at)
      end
    end
  end
end
