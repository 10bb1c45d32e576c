# frozen_string_literal: true

require "test_helper"
require "skep/web"

# The events that a page shows.
class WebEventBufferTest < Skep::TestCase
  test "the last hundred events are kept, each shortened" do
    buffer = Skep::Web::Live::EventBuffer.new
    150.times { |seq| buffer.add({ "seq" => seq, "event" => "x", "hint" => "y" * 999 }) }
    last = buffer.to_a.last
    assert_equal [100, 149, 401], [buffer.to_a.size, last["seq"], last["text"].size]
  end

  test "backtraces are not in the line, but kept for their node" do
    buffer = Skep::Web::Live::EventBuffer.new
    line = buffer.add({ "event" => "node_backtraces", "node" => 0,
                        "threads" => [{ "name" => "main" }] })
    assert_empty line["text"]
    assert_equal [{ "name" => "main" }], buffer.backtraces("0")["threads"]
  end
end
