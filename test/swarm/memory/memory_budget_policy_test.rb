# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemoryBudgetPolicyTest < Skep::TestCase
  test "is content below the budget" do
    assert_nil verdict(1000, large: [900, 100])
  end

  test "picks the node whose end gives most back" do
    assert_equal %i[replace grown], verdict(1100, old: [300, 280], grown: [290, 100], new: [50, 50])
  end

  test "waits for the one it picked, as long as that goes" do
    assert_nil verdict(1100, going: :grown, grown: [290, 100], other: [280, 100])
  end

  test "stops at once where it is a quarter too much" do
    assert_equal %i[stop grown], verdict(1300, grown: [400, 100], other: [280, 100])
    assert_equal %i[stop grown], verdict(1300, going: :grown, grown: [400, 100])
  end

  test "replaces nobody for nothing" do
    assert_equal [:futile, nil], verdict(1100, one: [500, 480], other: [500, 490])
    assert_equal [:futile, nil], verdict(1100, one: [500, 500])
    assert_equal [:futile, nil], verdict(1100)
  end

  test "takes a little where a little is enough" do
    assert_equal %i[replace one], verdict(1010, one: [500, 480])
  end

  private

  def verdict(total, going: nil, **nodes)
    nodes.transform_values! do |own, fresh|
      Skep::Swarm::Memory::MemoryBudgetPolicy::NodeShare.new(private: own, fresh:)
    end
    Skep::Swarm::Memory::MemoryBudgetPolicy.new(budget: 1000).verdict(total:, nodes:, going:)
  end
end
