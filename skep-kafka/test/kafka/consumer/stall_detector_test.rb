# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class StallDetectorTest < Skep::TestCase
      KEY = ["orders", 3].freeze
      private_constant :KEY

      def setup
        super
        @now = 0.0
        @detector = Consumer::StallDetector.new(60, start: :beginning)
      end

      test "a partition is stalled if it has messages and hasn't moved for the timeout" do
        assert_empty look(42, 42)
        assert_empty look(42, 50, after: 59)
        assert_equal [[KEY, 42, 50, 61.0]], look(42, 50, after: 2).map(&:to_a)
      end

      test "names what may become a stall, for as long as is asked for" do
        look(42, 50)
        look(42, 50, after: 31)
        late = @detector.behind({ KEY => 50 }, @now, 30)
        assert_equal [[KEY, 42, 50, 31.0]], late.map(&:to_a)
        assert_empty @detector.behind({ KEY => 50 }, @now, 32)
        look(43, 50)
        assert_empty @detector.behind({ KEY => 50 }, @now, 30)
      end

      test "counts from when the partition last moved or was at its end" do
        look(42, 50)
        look(43, 50, after: 50)

        assert_empty look(43, 50, after: 59)
        assert_empty look(43, 43, after: 5)
        assert_empty look(43, 50, after: 59)
        assert_equal 1, look(43, 50, after: 2).size
      end

      test "doesn't count the time while the partition's end offset is unknown" do
        look(42, 50)
        look(42, nil, after: 300)

        assert_empty look(42, 50, after: 30)
        assert_equal 1, look(42, 50, after: 31).size
      end

      test "doesn't count the time before a restart" do
        look(42, 50)
        @detector.restart(@now += 300)

        assert_empty look(42, 50)
      end

      test "doesn't count the time while it is unknown which partitions wait" do
        look(42, 50)
        @detector.unobserved(@now += 300)

        assert_empty look(42, 50, after: 59)
        assert_equal 1, look(42, 50, after: 1).size
      end

      test "a partition without a committed offset and without a start isn't stalled" do
        @detector = Consumer::StallDetector.new(60, start: nil)
        look(nil, 50)

        assert_empty look(nil, 50, after: 100)
      end

      test "seconds_left is the time until the first partition with messages is stalled" do
        assert_nil @detector.seconds_left(@now)

        look(42, 42)

        assert_nil @detector.seconds_left(@now)

        look(42, 50, after: 10)

        assert_in_delta 50, @detector.seconds_left(@now)
      end

      test "considers offsets that librdkafka fetched without a message as read" do
        look(42, 50)
        look(42, 50, after: 60)
        @detector.fetched(KEY, 50, @now)

        assert_empty look(42, 50, after: 61)
        assert_empty look(42, 51, after: 59)
        assert_equal 1, look(42, 51, after: 2).size
      end

      test "an unread partition starts at its beginning, or at its first known end" do
        look(nil, 50)

        assert_equal 1, look(nil, 50, after: 60).size

        @detector = Consumer::StallDetector.new(60, start: :end)
        look(nil, 50)

        assert_empty look(nil, 50, after: 61)
        assert_empty look(nil, 51, after: 59)
        assert_equal 1, look(nil, 51, after: 2).size
      end

      # The detector observes a partition of each kind every 30 s, and gets the end offsets up to
      # half a second later. A message is fetched within 3 s of its arrival.
      test "finds no stall in eight hours of ordinary load" do
        random = Random.new(Integer(ENV.fetch("SEED", "1")))
        loads = { busy: 0.2, slow: 40, rare: 3_000, dead: 1e9, batches: 600 }
        partitions = loads.map.with_index do |(kind, mean), number|
          Load.new(kind, mean, number, random)
        end
        stalls = []
        (0..8 * 3600).step(30) do |second|
          partitions.each { |one| one.advance(second) }
          observe(partitions, second)
          later = second + random.rand(0.5)
          ends = ends_of(partitions, random)
          partitions.each { |one| one.advance(later) }
          observe(partitions, later)
          stalls.concat(@detector.stalls(ends, later))
        end

        assert_empty stalls.map(&:to_a)
        assert_operator partitions.sum(&:offset), :>, 100_000
      end

      # A node's partition: messages arrive, are fetched within seconds and handled. Sometimes the
      # partition is revoked for a while.
      class Load
        attr_reader :key, :offset

        def initialize(kind, mean, number, random)
          @key = [kind.to_s, number]
          @mean, @random = mean, random
          @arrivals = []
          @arrival = @handled_at = @away_until = 0.0
          @offset = @end = 0
        end

        def advance(now)
          while @arrival <= now
            @arrival += -Math.log(1 - @random.rand) * @mean
            @arrivals << (@arrival + @random.rand(3.0))
          end
          @end += 1 while @arrivals[@end] && @arrivals[@end] - 3.0 <= now
          @away_until = now + @random.rand(30.0) if @random.rand < 0.0005
          return if away?(now) || now < @handled_at

          fetched = @offset
          fetched += 1 while @arrivals[fetched] && @arrivals[fetched] <= now && fetched < @end
          return if fetched == @offset

          @offset = fetched
          @handled_at = now + (@random.rand < 0.01 ? @random.rand(500.0) : @random.rand(0.5))
        end

        def away?(now) = now < @away_until
        def waiting?(now) = !away?(now) && now >= @handled_at
        def end_offset = [@end, @offset].max
      end
      private_constant :Load

      private

      # Observes the partition with that next offset. Returns its stalls, given its end.
      def look(offset, end_offset, after: 0)
        @now += after
        @detector.observe({ KEY => offset }, @now)
        @detector.stalls({ KEY => end_offset }.compact, @now)
      end

      def observe(partitions, now)
        waiting = partitions.select { |one| one.waiting?(now) }.to_h { |one| [one.key, one.offset] }
        @detector.observe(waiting, now)
      end

      # Returns the end offsets. Some are missing, as if their broker were unavailable.
      def ends_of(partitions, random)
        partitions.to_h { |one| [one.key, one.end_offset] }.reject { random.rand < 0.01 }
      end
    end
  end
end
