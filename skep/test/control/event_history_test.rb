# frozen_string_literal: true

require "test_helper"
require "skep/control"

# The last events of a swarm, in bounded memory.
class EventHistoryTest < Skep::TestCase
  def setup = @history = Skep::Control::EventHistory.new

  test "the last thousand events are kept, in their order" do
    1500.times { |number| add(number + 1) }

    assert_equal [1000, 500], [@history.size, @history.lost]
    assert_equal([*501..1500], kept.map { |event| event["seq"] })
  end

  test "a hundred thousand events of any size stay within two mebibytes" do
    most = 0
    random = Random.new(7)
    100_000.times do |number|
      text = "x" * (random.rand(100).zero? ? 20_000 : random.rand(6000))
      @history.add({ seq: number + 1, text: }, %({"seq":#{number + 1},"text":"#{text}"}\n))
      most = [most, @history.bytes].max
    end

    assert_operator most, :<=, 2 << 20
    assert_equal @history.bytes, @history.lines.sum(&:bytesize)
    assert_equal 100_000, kept.last["seq"]
    assert_equal kept.first["seq"] - 1, @history.lost
  end

  test "an event that is too long is kept without its largest facts" do
    threads = [{ "name" => "main", "backtrace" => ["app.rb:1 in x"] * 5000 }]
    add(1, node: 3, error: "é" * 9000, at: "app.rb:1", threads:)
    event = kept.first

    assert_equal [1, "odd", 3, "app.rb:1", "é" * 1024],
                 event.values_at("seq", "event", "node", "at", "error")
    assert_operator event["left_out"], :>, 60_000
    refute event.key?("threads")
  end

  test "of many large facts only the head is kept" do
    add(1, error: "no", **Array.new(90) { |number| [:"fact#{number}", ["y" * 1000]] }.to_h)

    assert_equal %w[error event left_out level seq v], kept.first.keys.sort
    assert_operator @history.bytes, :<, 1000
  end

  private

  def add(seq, **facts)
    event = { seq:, level: :info, event: "odd", **facts }
    @history.add(event, Skep::Control.line(**event))
  end

  def kept = @history.lines.map { |line| JSON.parse(line) }
end
