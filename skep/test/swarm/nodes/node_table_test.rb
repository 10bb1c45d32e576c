# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class NodeTableTest < Skep::TestCase
  Node = Struct.new(:page_index, :pid)
  # A machine whose clock the test moves.
  class Clock < Skep::OS::Machine
    attr_accessor :now
  end
  private_constant :Node, :Clock

  def setup
    super
    @clock = Clock.new
    @clock.now = 1_000.0
    @table = Skep::Swarm::Nodes::NodeTable.new(3, quarantine: 6.0)
  end

  test "an index is used again as soon as its node has ended" do
    remove(add)
    assert_equal 0, add.page_index
  end

  test "the index of a node that was never reported is used again after the quarantine" do
    remove(add(pid: nil))
    assert_equal 1, add.page_index
    @clock.now += 6.0
    assert_equal 0, add.page_index
  end

  test "the index of a node that was never reported is better than none" do
    remove(add(pid: nil))
    assert_equal [1, 2, 0], Array.new(3) { add.page_index }
    assert_raises(Skep::Swarm::Nodes::NodeTable::Full) { add }
  end

  private

  def remove(node) = Skep::OS.run_on(@clock) { @table.remove(node) }

  def add(pid: 42)
    Skep::OS.run_on(@clock) { @table.add { |page_index| Node.new(page_index, pid) } }
  end
end
