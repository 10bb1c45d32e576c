# frozen_string_literal: true

require "kafka/support/kafka_case"

# The free slots that reading gets. Each test in a Ruby of its own, whose heap nobody has filled.
class KafkaLeewayTest < KafkaCase
  BEGINNING = <<~RUBY
    require "json"
    require "skep/kafka"
    Leeway = Skep::Kafka::Processing::Leeway

    def slots = GC.stat(:heap_available_slots)

    def batch(size, payload: "x" * 90)
      Skep::Kafka::Batch.new("orders", 0, Array.new(size) do |offset|
        Skep::Kafka::Message.new("orders", 0, offset, nil, payload, -1, {})
      end)
    end

    # How often so many objects are collected.
    def collections(objects)
      GC.start
      before = GC.count
      objects.times { Object.new }
      GC.count - before
    end
  RUBY
  private_constant :BEGINNING

  test "makes slots once, after so many messages, for as many as it was told" do
    assert_equal [false, true, true, true, false], told_by(<<~RUBY)
      leeway = Leeway.new(after: 1_000, messages: 200_000)
      leeway.passed(batch(999))
      early = leeway.made?
      before = slots
      leeway.passed(batch(500))
      after = slots
      leeway.passed(batch(500))
      [early, leeway.made?, after - before > 100_000, slots - after < 100_000, GC.disable]
    RUBY
  end

  test "leaves them free for what comes" do
    few, many = [1_000_000, 0].map do |after|
      told_by(<<~RUBY)
        Leeway.new(after: #{after}, messages: 100_000).passed(batch(500))
        collections(1_000_000)
      RUBY
    end

    assert_operator many, :<, few
  end

  test "makes fewer of large payloads" do
    assert_operator 200_000, :>, told_by(<<~RUBY)
      before = slots
      Leeway.new(after: 1, messages: 200_000).passed(batch(10, payload: "x" * (4 << 20)))
      slots - before
    RUBY
  end

  test "leaves a collector alone that somebody has switched off, and what is empty, too" do
    assert_equal [true, false], told_by(<<~RUBY)
      GC.disable
      Leeway.new(after: 1, messages: 10).passed(batch(1))
      empty = Leeway.new(after: 1)
      empty.passed(batch(0))
      [GC.enable, empty.made?]
    RUBY
  end

  private

  def told_by(body)
    program = "#{BEGINNING}\nputs JSON.generate(begin\n#{body}\nend)"
    out, err, = run_program(program, gems: true)
    assert_empty err
    JSON.parse(out)
  end
end
