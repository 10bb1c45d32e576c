# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemoryBudgetTest < Skep::TestCase
  Memory = Struct.new(:uss_min, :young_uss)
  private_constant :Memory

  test "returns nil within the budget" do
    assert_nil decide(1000, large: [900, 100])
  end

  test "picks the node that has grown most since it was young" do
    assert_equal %i[replace grown], decide(1100, old: [300, 280], grown: [290, 100], new: [50, 50])
  end

  test "picks no node until the last one picked has ended" do
    assert_nil decide(1100, leaving: :grown, grown: [290, 100], other: [280, 100])
  end

  test "stops a node at once if the budget is exceeded by more than a quarter" do
    assert_equal %i[stop grown], decide(1300, grown: [400, 100], other: [280, 100])
    assert_equal %i[stop grown], decide(1300, leaving: :grown, grown: [400, 100])
  end

  test "returns :too_small if no replacement would free enough memory" do
    assert_equal [:too_small], decide(1100, one: [500, 480], other: [500, 490])
    assert_equal [:too_small], decide(1100, one: [500, 500])
    assert_equal [:too_small], decide(1100)
  end

  test "replaces a node for a small gain that covers the excess" do
    assert_equal %i[replace one], decide(1010, one: [500, 480])
  end

  private

  # nodes: each with its USS now, and when it was young.
  def decide(total, leaving: nil, **nodes)
    nodes.transform_values! { |uss, young| Memory.new(uss, young) }
    Skep::Swarm::Memory::MemoryBudget.new(1000, events: nil).decide(total, nodes, leaving)
  end
end
