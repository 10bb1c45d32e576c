# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

class BatchTest < Skep::TestCase
  Message = Skep::Kafka::Message
  Batch = Skep::Kafka::Batch

  class Beats
    attr_reader :count

    def beat = @count = count.to_i + 1
  end

  def setup
    messages = (10..12).map { |n| Message.new("orders", 3, n, "k", "v#{n}", 0, {}) }
    @batch = Batch.new("orders", 3, messages)
  end

  test "gives out its messages in order, each a beat" do
    beats = Beats.new
    @batch.__given_to(beats)

    assert_equal [10, 11, 12], @batch.map(&:offset)
    assert_equal 3, beats.count
  end

  test "is enumerable without anybody's beats" do
    indexed = @batch.each.with_index.first(2).map { |message, index| [message.offset, index] }

    assert_equal [[10, 0], [11, 1]], indexed
    assert_equal 3, @batch.each.size
  end

  test "tells what it is" do
    assert_equal "orders/3/10-12", @batch.label
    assert_equal %w[v10 v11 v12], @batch.payloads
    assert_equal [1, 1, 1], @batch.split.map(&:size)
  end
end
