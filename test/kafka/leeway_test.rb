# frozen_string_literal: true

require "kafka/support/kafka_case"

# The free slots that reading gets. Each test in a child: what Ruby's heap has got it keeps.
class KafkaLeewayTest < KafkaCase
  Leeway = Skep::Kafka.const_get(:Leeway)

  test "makes slots once, after so many messages, for as many as it was told" do
    assert_equal [false, true, true, true, false], (in_a_child do
      leeway = Leeway.new(after: 1_000, messages: 200_000)
      leeway.passed(batch(999))
      early = leeway.made?
      before = slots
      leeway.passed(batch(500))
      after = slots
      leeway.passed(batch(500))
      [early, leeway.made?, after - before > 100_000, slots <= after, GC.disable]
    end)
  end

  test "leaves them free for what comes" do
    few, many = [1_000_000, 0].map { |after| in_a_child { collections(after) } }

    assert_operator many, :<, few
  end

  test "makes fewer of large payloads" do
    grown = in_a_child do
      before = slots
      Leeway.new(after: 1, messages: 200_000).passed(batch(10, payload: "x" * (4 << 20)))
      slots - before
    end

    assert_operator grown, :<, 200_000
  end

  test "leaves a collector alone that somebody has switched off, and what is empty, too" do
    assert_equal [true, false], (in_a_child do
      GC.disable
      Leeway.new(after: 1, messages: 10).passed(batch(1))
      empty = Leeway.new(after: 1)
      empty.passed(batch(0))
      [GC.enable, empty.made?]
    end)
  end

  private

  def in_a_child(&block)
    pid, reader = in_child { |writer| writer.write(JSON.generate(block.call)) }
    said = wait_readable(reader).read
    Process.wait(pid)
    JSON.parse(said)
  end

  # How often 200,000 objects are collected.
  def collections(after)
    Leeway.new(after:, messages: 100_000).passed(batch(500))
    GC.start
    before = GC.count
    200_000.times { Object.new }
    GC.count - before
  end

  def slots = GC.stat(:heap_available_slots)

  def batch(size, payload: "x" * 90)
    messages = Array.new(size) do |offset|
      Skep::Kafka::Message.new("orders", 0, offset, nil, payload, -1, {})
    end
    Skep::Kafka::Batch.new("orders", 0, messages)
  end
end
