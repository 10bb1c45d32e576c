# frozen_string_literal: true

require "kafka/support/kafka_case"

# What PartitionReader returns and reports at errors, offset resets and undelivered records.
class KafkaPartitionReaderTest < Skep::TestCase
  BAD = [-199, "wrong checksum", 12].freeze

  # A partition queue whose reads, positions and low watermarks are given.
  class ScriptedQueue
    def initialize(reads, positions, lows) = (@reads, @positions, @lows = reads, positions, lows)
    def read(_limit) = @reads.shift
    def position = @positions.shift
    def low_watermark = @lows.shift
    def leader_epoch = nil
    def close = nil
  end

  # Stands for FetchErrors, and records a reader's calls.
  class RecordedErrors
    attr_reader :calls

    def initialize = @calls = []
    def corrupt_record(_, offset, code, _) = calls << [:stuck, offset, code]
    def retry_later(_, offset) = calls << [:again, offset]
    def readable_again(_, offset) = calls << [:readable, offset]
    def reset(_, expected, first, low) = calls << [:reset, expected, first, low]
  end

  test "reads up to an unreadable message, then nothing before a seek" do
    reader = reader(read(10..15, BAD), read(16..20), read(12..20))

    assert_equal [[10, 11], [], 7], take(reader)
    assert_equal [[], [], 5], take(reader)
    sought = nil
    reader.resume { |offset| sought = offset }
    assert_equal 12, sought
    assert_equal [(12..20).to_a, [], 9], take(reader)
    assert_equal [[:stuck, 12, -199], [:readable, 12]], @fetch_errors.calls
  end

  test "reports an unknown compression as unreadable, and returns other errors" do
    refused = [29, "refused", -1001]
    reader = reader(read(0..1), read(nil, refused, [-198, "bad compression", 2]))

    take(reader)
    assert_equal [[], [refused], 2], take(reader)
    assert_equal [[:stuck, 2, -198]], @fetch_errors.calls
  end

  test "stops at the offset of any other error, and reports nothing itself" do
    refused = [29, "refused", 2]
    reader = reader(read(0..1, refused), read(3..4), read(2..4))

    assert_equal [[0, 1], [refused], 3], take(reader)
    assert_empty take(reader).first # librdkafka counts the error as message 2
    reader.resume { |offset| assert_equal 2, offset }
    assert_equal [2, 3, 4], take(reader).first
    assert_equal [[:again, 2]], @fetch_errors.calls
  end

  test "continues after an error without an offset" do
    reader = reader(read(0..1, [-186, "no connection", -1001]), read(2..3))

    assert_equal [[0, 1], [2, 3]], Array.new(2) { take(reader).first }
    assert_empty @fetch_errors.calls
  end

  test "remains stopped if the seek fails" do
    reader = reader(read(0..1, [-170, "unknown codec", 1]), read(2..3))

    take(reader)
    assert_raises(IOError) { reader.resume { raise IOError } }
    assert_empty take(reader).first
  end

  test "a seek elsewhere ends the stop" do
    reader = reader(read(0..1, [-199, "wrong checksum", 2]), read(7..9))

    take(reader)
    assert_equal 7, reader.restart { 7 } # a seek isn't a reset
    reader.resume { flunk "the reader hasn't stopped" }
    assert_equal [7, 8, 9], take(reader).first
    assert_equal [[:stuck, 2, -199]], @fetch_errors.calls
  end

  test "reports a reset when the log begins behind the expected offset" do
    assert_equal [[:reset, 10, 30, 28]],
                 resets([0, 28, 28, 28], read(0..3), read(4..9), read(30..31), read(40..41))
    assert_equal [[:reset, 0, 4, 3]], resets([3], read(4..9), expected: 0)
  end

  test "reports a reset by the low watermark at that time if retention has moved on since" do
    assert_equal [[:reset, 10, 30, 28]],
                 resets([0, 28, 90], read(0..3), read(4..9), read(30..31))
  end

  test "reports no reset for gaps in the log, even if retention has deleted them since" do
    assert_empty resets([0, 0, 50], read(0..3), read(8..9), read(30..31))
    assert_empty resets([nil, nil], read(0..3), read(8..9))
    assert_empty resets([3], read(8..9), expected: 5)
  end

  test "reports a reset to an earlier offset" do
    assert_equal [[:reset, 500, 0, nil]], resets([0, 0], read(0..3), read(4..9), expected: 500)
  end

  test "forgets the low watermark of a recreated topic" do
    assert_empty resets([7, 0, 0], read(0..3), read(4..5), read(8..9))
  end

  test "returns the end offset of a read that ends with undelivered records" do
    assert_equal [nil, 13, 15],
                 ends([nil, 12, 12, 13, 13, 15], read(10..11), read(nil), read(13..13))
    assert_equal [11, 12], ends([nil, 11, 11, 12], read(nil), read(nil))
  end

  test "ignores a queue position that the read hasn't moved" do
    assert_equal [nil], ends([21, 21], read(nil)), "the position of an earlier assignment"
    assert_equal [nil], ends([21, nil], read(nil))
    assert_equal [nil, nil, 15],
                 ends([10, 14, 14, 14, 15], read(nil, [29, "refused", -1]), read(nil), read(nil))
  end

  test "returns no end offset while more messages wait, or at an error" do
    assert_equal [nil], ends([nil, 100], read(0..9), limit: 10)
    assert_equal [nil, nil], ends([nil, 13, 13, 16], read(10..11, BAD), read(13..14))
  end

  test "reports a reset if only undelivered records follow" do
    found = resets([0, 29], read(4..9), read(nil), positions: [4, 10, 10, 30])

    assert_equal [[:reset, 10, 30, 29]], found
  end

  test "drops what its queue has of an earlier assignment" do
    reader = reader(read(0..4), read(nil, [1, "refused", -1]), read(nil), read(9..9))
    reader.drop_former(100)
    reader.begin_at(9)

    assert_equal [[9], [], 1], take(reader)
    assert_empty @fetch_errors.calls
  end

  private

  def reader(*reads, positions: [], lows: [])
    @fetch_errors = RecordedErrors.new
    queue = ScriptedQueue.new(reads, positions, lows)
    Skep::Kafka::Processing::PartitionReader.new(queue, "orders", 0, fetch_errors: @fetch_errors)
  end

  # Returns the reported resets. lows: the low watermark at each read.
  def resets(lows, *reads, expected: nil, positions: [])
    reader = reader(*reads, positions:, lows:)
    reader.begin_at(expected)
    reads.each { take(reader) }
    @fetch_errors.calls
  end

  # Returns the end offset of each read. positions: librdkafka's, before and after each.
  def ends(positions, *reads, limit: 100)
    reader = reader(*reads, positions:)
    Array.new(reads.size) { reader.read(limit).last }
  end

  def read(offsets, *errors)
    messages = offsets.to_a.map do |offset|
      Skep::Kafka::Message.new("orders", 0, offset, nil, nil, 0, {})
    end
    [Skep::Kafka::Librdkafka::MessageSet.new(messages), errors, messages.size + errors.size]
  end

  def take(reader)
    message_set, errors, count, = reader.read(100)
    [message_set.map(&:offset), errors, count]
  end
end
