# frozen_string_literal: true

require "test_helper"
require "skep/web"

# The events that a page shows.
class WebEventBufferTest < Skep::TestCase
  test "the last three hundred events are kept, each shortened" do
    buffer = Skep::Web::Live::EventBuffer.new
    350.times { |seq| buffer.add({ "seq" => seq, "event" => "x", "hint" => "y" * 999 }) }
    last = buffer.to_a.last
    assert_equal [300, 349, 401], [buffer.to_a.size, last["seq"], last["text"].size]
  end

  test "an error and its place come first" do
    line = Skep::Web::Live::EventBuffer.new.add(
      { "event" => "node_failed", "node" => 0, "attempt" => 2, "error" => "IOError: x",
        "at" => "a.rb:1" }
    )
    assert_equal ["at=a.rb:1 error=IOError: x attempt=2", "0"], line.values_at("text", "node")
  end

  test "all facts of an event are kept as long as its line" do
    buffer = Skep::Web::Live::EventBuffer.new
    facts = { "time" => "t", "event" => "x", "a" => [1] }
    300.times { |seq| buffer.add({ "seq" => seq, "v" => 1, **facts }) }
    assert_equal({ "seq" => 0, **facts }, buffer.facts(0, "t"))
    assert_nil buffer.facts(0, "u") # the same number of another life of the supervisor
    buffer.add(Skep::Control::EventGap.new(7))
    assert_nil buffer.facts(0, "t")
  end

  test "each gap is a line of its own" do
    buffer = Skep::Web::Live::EventBuffer.new
    2.times { buffer.add(Skep::Control::EventGap.new(7)) }
    assert_equal(["7 events missing"], buffer.to_a.map { |line| line["gap"] }.uniq)
    assert_equal 2, buffer.to_a.uniq.size
  end

  test "backtraces are not in the line, but kept for their node" do
    buffer = Skep::Web::Live::EventBuffer.new
    line = buffer.add({ "event" => "node_backtraces", "node" => 0,
                        "threads" => [{ "name" => "main" }] })
    assert_empty line["text"]
    assert_equal [{ "name" => "main" }], buffer.backtraces("0")["threads"]
  end

  test "of more than 64 nodes, those whose backtraces came last are kept" do
    buffer = Skep::Web::Live::EventBuffer.new
    [*0..63, 0, 64].each { |node| buffer.add({ "event" => "node_backtraces", "node" => node }) }
    assert_equal [true, false, true], %w[0 1 64].map { |node| !buffer.backtraces(node).nil? }
  end
end
