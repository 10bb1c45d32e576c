# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "support/fakes"

class BatchTest < Skep::TestCase
  Message = Skep::Kafka::Message
  Batch = Skep::Kafka::Batch

  def setup
    messages = (10..12).map { |n| Message.new("orders", 3, n, "k", "v#{n}", 0, {}) }
    @slice = Skep::Kafka::Processing::Slice.new("orders", 3, messages)
    @batch = Batch.new(@slice)
  end

  test "each yields messages in order with a beat each, then reports the whole batch in flight" do
    beats = attempt

    assert_equal [10, 11, 12], @batch.map(&:offset)
    assert_equal [10, 11, 12, nil], beats.given
  end

  test "each keeps the message that raised as current, and none after a break" do
    beats = attempt
    assert_raises(NotImplementedError) do
      @batch.each { |message| raise NotImplementedError if message.offset == 11 }
    end
    assert_equal [10, 11], beats.given
    @batch.first

    assert_equal [10, 11, 10, nil], beats.given
  end

  # Each lambda is called within a loop over the batch, at offset 11.
  LOOPS = {
    "each" => ->(batch) { batch.each { |message| message } },
    "find" => ->(batch) { batch.find { |message| message.offset == 10 } },
    "map" => ->(batch) { batch.map(&:offset) },
    "any?" => ->(batch) { batch.any? { |message| message.offset == 12 } },
    "first" => lambda(&:first),
    "include?" => ->(batch) { batch.include?(batch.first) },
    "lazy" => ->(batch) { batch.lazy.map(&:offset).first(2) },
    "next" => ->(batch) { batch.each.tap(&:next).next },
    "zip" => ->(batch) { batch.zip(batch.each) },
    "catch" => ->(batch) { catch(:found) { batch.each { throw :found } } },
    "a loop that raises" => lambda do |batch|
      batch.each { raise IOError }
    rescue IOError
      nil
    end,
    "a thread" => ->(batch) { Thread.new { batch.to_a }.join },
    "a fiber" => ->(batch) { Fiber.new { batch.to_a }.resume }
  }.freeze
  private_constant :LOOPS

  LOOPS.each do |name, inner|
    test "the outermost loop's message is the current one: #{name}" do
      beats = attempt
      error = assert_raises(ArgumentError) do
        @batch.each do |message|
          next if message.offset == 10

          inner.call(@batch)
          raise ArgumentError
        end
      end

      assert_equal [[10, 11], 11], [beats.given, @batch.__attempt.failed_at(error)]
      assert_operator beats.beats, :>, 0
    end
  end

  test "each is tracked after an abandoned enumerator" do
    beats = attempt
    left = @batch.each
    left.next
    error = assert_raises(ArgumentError) do
      @batch.each { |message| left.next && message.offset == 11 && raise(ArgumentError) }
    end

    assert_equal [[10, 10, 11], 11], [beats.given, @batch.__attempt.failed_at(error)]
  end

  test "an enumerator reports the message that next returns" do
    beats = attempt
    messages = @batch.each
    3.times { messages.next }
    assert_raises(StopIteration) { messages.next }

    assert_equal [10, 11, 12, nil], beats.given
  end

  test "each in another fiber is tracked if no other loop runs" do
    beats = attempt
    error = assert_raises(ArgumentError) do
      Fiber.new { @batch.each { |message| message.offset == 11 && raise(ArgumentError) } }.resume
    end

    assert_equal [[10, 11], 11], [beats.given, @batch.__attempt.failed_at(error)]
  end

  test "a loop that ended early isn't blamed for a later exception" do
    attempt
    left = assert_raises(ArgumentError) { @batch.each { raise ArgumentError } }
    wrapped = assert_raises(IOError) do
      raise left
    rescue ArgumentError
      raise IOError
    end

    errors = [left, wrapped, IOError.new]
    assert_equal [10, 10, nil], errors.map { |error| @batch.__attempt.failed_at(error) }
    attempt
    assert_nil @batch.__attempt.failed_at(left)
  end

  test "is Enumerable without a node" do
    indexed = @batch.each.with_index.first(2).map { |message, index| [message.offset, index] }

    assert_equal [[10, 0], [11, 1]], indexed
    assert_equal 3, @batch.each.size
  end

  test "mark accepts a message or offset of the batch, and rejects others" do
    marker = []
    marker.define_singleton_method(:mark) { |offset| push(offset) }
    attempt(marker)
    @batch.mark(@batch.messages.first)
    @batch.mark(12)

    assert_equal [10, 12], marker
    assert_raises(ArgumentError) { @batch.mark(13) }
    assert Batch.new(@slice).mark(10) # without a node
  end

  test "marks nothing if a transaction has output of messages after the one at which each ended" do
    { true => [false, []], false => [true, [10]] }.each do |one_transaction, result|
      marker = Struct.new(:marks) { def mark(offset) = marks << offset }.new([])
      recorder = Fakes::ProgressRecorder.new([], 0)
      attempt = Skep::Kafka::Processing::Attempt.new(@slice, recorder, marker, one_transaction:)
      assert attempt.owned?(Struct.new(:confirmed?, :limit).new(true, 60.0))
      attempt.batch.each { nil }
      attempt.end_early
      assert_equal [10], attempt.batch.map(&:offset)
      assert_equal result, [attempt.batch.mark(10), marker.marks]
    end
  end

  test "remembers a requested pause or seek until the next try" do
    attempt
    @batch.pause(3)
    assert_equal [:pause, 3, :info], @batch.__attempt.requested
    @batch.seek(:beginning)
    assert_equal %i[seek beginning], @batch.__attempt.requested
    attempt
    assert_nil @batch.__attempt.requested
    [-1, Float::NAN, Float::INFINITY, 10**30, Complex(1, 1), "1"].each do |wrong|
      assert_raises(ArgumentError) { @batch.pause(wrong) }
    end
    assert_raises(ArgumentError) { @batch.pause(1, level: :loud) }
    [-1, :middle, nil, 1.5, 2**63, Time.at(10**18)].each do |place|
      assert_raises(ArgumentError) { @batch.seek(place) }
    end
  end

  test "discards changes to its messages' strings before the next try" do
    @batch.messages.each { |one| [one.key, one.payload].each(&:clear) }
    @slice.reset_strings
    assert_equal [%w[k v10], %w[k v11], %w[k v12]], (@batch.map { |one| [one.key, one.payload] })
    Ractor.make_shareable(@batch.messages.first)
    @slice.reset_strings
    assert_equal "v10", @batch.first.payload
  end

  test "discards changes to the values of a repeated header before the next try" do
    message = Message.new("orders", 3, 1, nil, nil, 0, { "a" => %w[1 2].map(&:dup) })
    message.headers["a"].each(&:clear).push("3")
    @slice.with([message]).reset_strings
    assert_equal({ "a" => %w[1 2] }, message.headers)
  end

  test "has payloads and size" do
    assert_equal [%w[v10 v11 v12], 3], [@batch.payloads, @batch.size]
  end

  private

  # The batch is that of another attempt from here on. Returns what it reports to.
  def attempt(marker = nil)
    recorder = Fakes::ProgressRecorder.new([], 0)
    @batch = Skep::Kafka::Processing::Attempt.new(@slice, recorder, marker).batch
    recorder
  end
end
