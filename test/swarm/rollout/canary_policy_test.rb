# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class CanaryPolicyTest < Skep::TestCase
  MIB = 1 << 20
  private_constant :MIB

  test "takes a node that is cheaper once all are of its mold" do
    assert_nil verdict(first: [100, 5], others: [[95, 40], [95, 44]])
  end

  test "refuses one that keeps as much for itself, and says how much that is" do
    assert_equal "its first node takes 60.0 MiB, those before 50.0 MiB",
                 verdict(first: [100, 50], others: [[90, 40], [90, 40]])
  end

  test "refuses a mold that has grown so much that no node is worth it" do
    why = verdict(first: [400, 5], others: [[100, 40]])
    assert_match(/takes 84\.0 MiB, those before 52\.0/, why)
  end

  test "counts the rest as all will share it, however few share it now" do
    assert_equal 24 * MIB, canary.cost(facts(100, 5))
    assert_equal 52.5 * MIB, canary(nodes: 1).cost(facts(100, 5))
  end

  test "says nothing where nothing is known, and doesn't take noise for more" do
    assert_nil canary.verdict(nil, [facts(90, 40)])
    assert_nil canary.verdict(facts(90, 40), [])
    assert_nil verdict(first: [90, 41], others: [[90, 40]])
  end

  private

  def canary(nodes: 4) = Skep::Swarm::Rollout::Refork::CanaryPolicy.new(nodes:)
  def facts(rss, uss) = Skep::Swarm::Rollout::Refork::CanaryPolicy::Facts.new(rss * MIB, uss * MIB)

  def verdict(first:, others:)
    canary.verdict(facts(*first), others.map { |each| facts(*each) })
  end
end
