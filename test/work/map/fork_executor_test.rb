# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapForkExecutorTest < Skep::TestCase
  # Slow items that follow quick ones are in few chunks, because a chunk is sized by the quick ones.
  test "divides slow items that follow quick ones among all nodes" do
    skip "the fallback withdraws nothing" unless Skep::OS::SharedPage.native?

    slow = Skep.map(0...10_000, nodes: 4) { |item| wait(0.01) if item >= 9_940 }.compact
    assert_equal 60, slow.size
    assert_equal 4, slow.map(&:first).uniq.size
    began, ended = slow.map { |_, from, _| from }.min, slow.map(&:last).max
    at_a_time = slow.sum { |_, from, to| to - from } / (ended - began)
    assert_operator at_a_time, :>, 2
  end

  private

  # The process, and when the wait began and ended.
  def wait(seconds)
    began = Skep::OS.now
    IO.select(nil, nil, nil, seconds)
    [Process.pid, began, Skep::OS.now]
  end
end
