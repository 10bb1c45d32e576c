# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapForkExecutorTest < Skep::TestCase
  # Slow items that follow quick ones are in few chunks, because a chunk is sized by the quick ones.
  test "divides slow items that follow quick ones among all nodes" do
    skip "the fallback withdraws nothing" unless Skep::OS::SharedPage.native?

    pids = Skep.map(0...10_000, nodes: 4) { |item| wait(0.01) if item >= 9_940 }.compact
    assert_equal 60, pids.size
    assert_equal 4, pids.uniq.size
    assert_operator pids.tally.values.max, :<, 45
  end

  private

  def wait(seconds)
    IO.select(nil, nil, nil, seconds)
    Process.pid
  end
end
