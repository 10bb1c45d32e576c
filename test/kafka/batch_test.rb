# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

class BatchTest < Skep::TestCase
  Message = Skep::Kafka::Message
  Batch = Skep::Kafka::Batch

  class Beats
    def given = @given ||= []
    def at(number) = given << number
  end

  def setup
    messages = (10..12).map { |n| Message.new("orders", 3, n, "k", "v#{n}", 0, {}) }
    @batch = Batch.new("orders", 3, messages)
  end

  test "gives out its messages in order, each a beat, and in the end all of it is at work" do
    @batch.__given_to(beats = Beats.new)

    assert_equal [10, 11, 12], @batch.map(&:offset)
    assert_equal [10, 11, 12, nil], beats.given
  end

  test "leaves told which message it was where one raises, and none where the handler has enough" do
    @batch.__given_to(beats = Beats.new)
    assert_raises(NotImplementedError) do
      @batch.each { |message| raise NotImplementedError if message.offset == 11 }
    end
    assert_equal [10, 11], beats.given
    @batch.first

    assert_equal [10, 11, 10, nil], beats.given
  end

  test "sets some of its messages apart, in order" do
    pieces = @batch.isolate { |message| message.offset > 10 }
    assert_equal %w[orders/3/10-10 orders/3/11-11 orders/3/12-12], pieces.map(&:label)

    pieces = @batch.isolate { |message| message.offset == 12 }
    assert_equal %w[orders/3/10-11 orders/3/12-12], pieces.map(&:label)
  end

  test "is enumerable without anybody's beats" do
    indexed = @batch.each.with_index.first(2).map { |message, index| [message.offset, index] }

    assert_equal [[10, 0], [11, 1]], indexed
    assert_equal 3, @batch.each.size
  end

  test "tells of a mark, by message or offset, and takes none that isn't its own" do
    told = []
    @batch.__given_to(Beats.new) { |offset| told << offset }
    @batch.mark(@batch.messages.first)
    @batch.mark(12)

    assert_equal [10, 12], told
    assert_raises(ArgumentError) { @batch.mark(13) }
    Batch.new("orders", 3, @batch.messages).mark(10) # nobody to tell
  end

  test "knows what the handler wished for, until it is given out again" do
    @batch.pause(3)
    assert_equal [:pause, 3, :info], @batch.__wish
    @batch.seek(:beginning)
    assert_equal %i[seek beginning], @batch.__wish
    @batch.__given_to(Beats.new)
    assert_nil @batch.__wish
    assert_raises(ArgumentError) { @batch.pause(-1) }
    [-1, :middle, nil, 1.5].each { |place| assert_raises(ArgumentError) { @batch.seek(place) } }
  end

  test "forgets what was made of its messages' strings" do
    @batch.messages.each { |one| [one.key, one.payload].each(&:clear) }
    @batch.__anew
    assert_equal [%w[k v10], %w[k v11], %w[k v12]], (@batch.map { |one| [one.key, one.payload] })
    Ractor.make_shareable(@batch.messages.first)
    @batch.__anew
    assert_equal "v10", @batch.first.payload
  end

  test "gives what comes after a message" do
    assert_equal "orders/3/12-12", @batch.__after(11).label
    assert_nil @batch.__after(12)
  end

  test "tells what it is" do
    assert_equal "orders/3/10-12", @batch.label
    assert_equal %w[v10 v11 v12], @batch.payloads
    assert_equal [1, 1, 1], @batch.split.map(&:size)
  end
end
