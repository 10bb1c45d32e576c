# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class CanaryPolicyTest < Skep::TestCase
  MIB = 1 << 20
  private_constant :MIB

  test "accepts a canary that takes less memory once all nodes are of its mold" do
    assert_nil verdict(first: [100, 5], others: [[95, 40], [95, 44]])
  end

  test "refuses a canary that takes more, with both amounts" do
    assert_equal "its first node takes 60.0 MiB, those before 50.0 MiB",
                 verdict(first: [100, 50], others: [[90, 40], [90, 40]])
  end

  test "refuses a canary whose mold has grown more than its nodes save" do
    why = verdict(first: [400, 5], others: [[100, 40]])
    assert_match(/takes 84\.0 MiB, those before 52\.0/, why)
  end

  test "counts shared memory by the number of nodes that will share it" do
    assert_equal 24 * MIB, canary.cost(facts(100, 5))
    assert_equal 52.5 * MIB, canary(nodes: 1).cost(facts(100, 5))
  end

  test "accepts a canary if measurements are missing, or its excess is at most a mebibyte" do
    assert_nil canary.verdict(nil, [facts(90, 40)])
    assert_nil canary.verdict(facts(90, 40), [])
    assert_nil verdict(first: [90, 41], others: [[90, 40]])
  end

  private

  def canary(nodes: 4) = Skep::Swarm::Rollout::CanaryPolicy.new(nodes:)
  def facts(rss, uss) = Skep::Swarm::Rollout::CanaryPolicy::Facts.new(rss * MIB, uss * MIB)

  def verdict(first:, others:)
    canary.verdict(facts(*first), others.map { |each| facts(*each) })
  end
end
