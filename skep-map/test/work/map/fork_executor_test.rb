# frozen_string_literal: true

require "test_helper"
require "skep/work"
require "tmpdir"

class MapForkExecutorTest < Skep::TestCase
  # Slow items that follow quick ones are in few chunks, because a chunk is sized by the quick ones.
  test "divides slow items that follow quick ones among all nodes" do
    skip "the fallback withdraws nothing" unless Skep::OS::SharedPage.native?

    deadline = Skep::OS.now + 20
    Dir.mktmpdir do |met|
      pids = Skep.map(0...10_000, nodes: 4) { |item| meet(met, deadline) if item >= 9_940 }.compact
      assert_equal 60, pids.size
      assert_equal 4, pids.uniq.size
    end
  end

  private

  # Is slow until all four processes have begun such an item: a file each.
  def meet(folder, deadline)
    File.write("#{folder}/#{Process.pid}", "")
    IO.select(nil, nil, nil, 0.01) until Dir.children(folder).size == 4 || Skep::OS.now > deadline
    Process.pid
  end
end
