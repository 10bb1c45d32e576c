# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # What fails at present, by partition and key, and the begin and end of an outage.
    class PresentFailuresTest < ::Skep::TestCase
      Report = Struct.new(:events) do
        def failed(name, slice, error, **facts)
          event(name, **slice.place, error: error.message, **facts)
        end

        def event(name, **facts) = events << [name, facts]
        def describe(error) = "#{error.class}: #{error.message}"
      end
      Place = Struct.new(:key, :revocation) do
        def topic = key.first
      end
      Tried = Struct.new(:partition, :keys, :slice) do
        def unit(offset) = keys ? [*partition.key, keys[offset]] : partition.key
      end

      def setup
        @now = 1_000.0
        @report = Report.new([])
        @present = Failure::PresentFailures.new(@report)
        @one, @two = Place.new(["orders", 1]), Place.new(["orders", 2])
      end

      test "an outage is reported once, and its end once nothing of it fails any more" do
        fail_at(@one, 3, stuck_for: 1.5)
        fail_at(@one, 3, after: 1)
        fail_at(@two, 5)
        recover(@one, 3, after: 5)
        assert_equal [:kafka_dependency_away], names
        away = @report.events.first.last
        assert_equal ["orders", 1, 3, "refused", :dependency, 1.5, :warn],
                     away.values_at(:topic, :partition, :offset, :error, :cause, :duration, :level)
        recover(@two, 5)
        assert_equal [:kafka_dependency_back, { topic: "orders", messages: 2, duration: 7.5 }],
                     @report.events.last
        refute_predicate @present, :any?
      end

      test "messages before the one that fails don't end an outage" do
        fail_at(@one, 3)
        recover(@one, 2)
        assert_equal [:kafka_dependency_away], names
        recover(@one, 3)
        assert_equal %i[kafka_dependency_away kafka_dependency_back], names
      end

      test "a part of a dependency is reported once its messages have failed for three seconds" do
        fail_at(@one, 3, cause: :part_of_dependency)
        fail_at(@one, 3, cause: :part_of_dependency, after: 2.9)
        assert_empty names
        fail_at(@one, 3, cause: :part_of_dependency, after: 0.1)
        assert_equal [[:kafka_dependency_away], 3.0], [names, @report.events[0].last[:duration]]
      end

      test "the next outage is reported if it lasts, but not within ten seconds of the last one" do
        fail_at(@one, 3)
        recover(@one, 3)
        fail_at(@one, 4)
        fail_at(@one, 4, after: 9.9)
        assert_equal %i[kafka_dependency_away kafka_dependency_back], names
        fail_at(@one, 4, after: 0.1)
        assert_equal [3, 10.0], [names.size, @report.events.last.last[:duration]]
      end

      test "a rebalance that takes all of its messages ends an outage quietly" do
        fail_at(@one, 3)
        @one.revocation = :begun
        recover(@two, 9)
        fail_at(@two, 10)
        recover(@two, 10)
        assert_equal %i[kafka_dependency_away kafka_dependency_away kafka_dependency_back], names
      end

      test "an outage goes on where a rebalance leaves some of its messages" do
        fail_at(@one, 3)
        fail_at(@two, 5)
        @one.revocation = :begun
        assert_equal [["orders", 2]], shown.keys
        recover(@two, 5)
        assert_equal %i[kafka_dependency_away kafka_dependency_back], names
      end

      test "an outage in which its messages are given up ends with the next success" do
        fail_at(@one, 3)
        @present.gave_up(@one, @one.key)
        fail_at(@one, 4)
        @present.gave_up(@one, @one.key)
        assert_equal [[:kafka_dependency_away], true], [names, @present.any?]
        recover(@two, 7)
        assert_equal [:kafka_dependency_back, 2],
                     [names.last, @report.events.last.last[:messages]]
        refute_predicate @present, :any?
      end

      test "a message that turns out to be bad is not part of an outage any more" do
        fail_at(@one, 3)
        fail_at(@two, 5)
        fail_at(@two, 5, cause: :message)
        recover(@one, 3)
        assert_equal %i[kafka_dependency_away kafka_dependency_back], names
        assert_equal ["message"], shown.values.map { |row| row["cause"] }
      end

      test "a row has what most of the partition's messages share" do
        keys = { 1 => "a", 2 => "b", 3 => "c" }
        fail_at(@one, 1, keys:, cause: nil)
        fail_at(@one, 2, keys:, number: 2, after: 1)
        fail_at(@one, 3, keys:)
        row = shown.fetch(@one.key)
        assert_equal ["dependency", 2, 2, 2, 1_001.0],
                     row.values_at("cause", "messages", "offset", "attempt", "since")
        recover(@one, 3, [*@one.key, "b"], [*@one.key, "c"])
        assert_equal ["unknown", 1], shown.fetch(@one.key).values_at("cause", "attempt")
        recover(@one, 9, [*@one.key, "a"])
        assert_empty shown
      end

      test "a row tells the error, the next try and what follows it" do
        fail_at(@one, 3, cause: :message, retry_at: 1_004.2, dead_letter_topic: "dead")
        assert_equal ["IOError: refused", nil, 1_004.2, false, "dead", false],
                     shown.fetch(@one.key).values_at("error", "at", "retry_at", "held",
                                                     "dead_letter_topic", "undelivered")
      end

      test "a dead letter that can't be written is told until its message is given up" do
        fail_at(@one, 3, cause: :message)
        @present.undelivered(@one, @one.key, IOError.new("no topic"), 1_009.0)
        fail_at(@one, 3, cause: :message, after: 1)
        assert_equal [true, "IOError: refused"],
                     shown.fetch(@one.key).values_at("undelivered", "error")
        @present.undelivered(@one, @one.key, IOError.new("no topic"), 1_009.0)
        assert_equal ["IOError: no topic", 1_009.0],
                     shown.fetch(@one.key).values_at("error", "retry_at")
        fail_at(@one, 4, cause: :message)
        refute shown.fetch(@one.key)["undelivered"]
        @present.gave_up(@one, @one.key)
        @present.undelivered(@one, @one.key, IOError.new("late"), 1.0)
        assert_empty shown
      end

      test "what is held is told before what is tried again" do
        keys = { 1 => "a", 2 => "b", 3 => "c" }
        fail_at(@one, 1, keys:, cause: :message, held: true)
        fail_at(@one, 2, keys:, number: 9)
        fail_at(@one, 3, keys:)
        assert_equal [true, 1, "message"],
                     shown.fetch(@one.key).values_at("held", "offset", "cause")
      end

      test "a pause is told until it is over, or its partition continues elsewhere" do
        [@one, @two].each { |partition| @present.paused(partition, 1_010.0) }
        @one.revocation = :begun
        assert_equal({ ["orders", 2] => 1_010.0 }, pauses)
        @now = 1_010.0
        assert_empty pauses
      end

      test "nothing of a partition fails that continues elsewhere" do
        fail_at(@one, 3, cause: :message)
        @present.forget(@one)
        assert_equal [{}, false], [shown, @present.any?]
      end

      test "if it isn't known which message failed, the whole batch must succeed" do
        slice = Processing::Slice.new("orders", 1, [at(3), at(9)])
        fail_at(@one, nil, slice:)
        recover(@one, 3)
        assert_equal 1, names.size
        recover(@one, 9)
        assert_equal 2, names.size
      end

      private

      def names = @report.events.map(&:first)
      def shown = @present.to_plain
      def pauses = OS.stub(:now, @now) { @present.pauses }

      def at(offset)
        Message.new("orders", 1, offset, nil, "", -1, {})
      end

      def fail_at(partition, offset, cause: :dependency, after: 0, stuck_for: 0.0, number: 1,
                  keys: nil, slice: nil, **fate)
        slice ||= Processing::Slice.new(*partition.key, [at(offset)])
        attempt = Processing::Attempt.new(slice)
        attempt.failed(IOError.new("refused"), offset, marked: nil, size: slice.size,
                                                       halved: false)
        history = Failure::FailureCount.new(count: number)
        OS.stub(:now, @now += after) do
          @present.failed(Tried.new(partition, keys, slice), attempt, history,
                          Failure::Evidence.new(stuck_for:), cause, **fate)
        end
      end

      def recover(partition, offset, *units, after: 0)
        units = [partition.key] if units.empty?
        OS.stub(:now, @now += after) { @present.recovered(partition, offset) { units } }
      end
    end
  end
end
