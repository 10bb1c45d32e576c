# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemoryLimitPolicyTest < Skep::TestCase
  MIB = 1 << 20
  private_constant :MIB

  test "returns the longest pause if the upper bound is within the limit" do
    assert_in_delta 15.0, decide(least: 100, most: 400)
  end

  test "looks often at a young node" do
    assert_in_delta 1.5, decide(least: 1, most: 2, age: 0.0)
    assert_in_delta 3.0, decide(least: 1, most: 2, age: 30.0)
  end

  test "looks at a node that doesn't grow after twice its age" do
    assert_in_delta 0.5, decide(least: 1, most: 2, age: 0.25, still: true)
    assert_in_delta 8.0, decide(least: 1, most: 2, age: 4.0, still: true)
    assert_in_delta 15.0, decide(least: 1, most: 2, age: 40.0, still: true)
  end

  test "looks at a growing node twice before it can reach the limit" do
    assert_in_delta 2.0, decide(least: 100, most: 110, rate: 100)
    assert_in_delta 0.25, decide(least: 499, most: 500, rate: 100)
    assert_in_delta 15.0, decide(least: 100, most: 110, rate: -100)
  end

  test "replaces a node whose lower bound exceeds the limit, without a measurement" do
    assert_equal :replace, decide(least: 501, most: 501, measurable_in: 60.0)
  end

  test "stops a node at once that exceeds one and a half times the limit" do
    assert_equal :stop, decide(least: 751, most: 751)
  end

  test "requests a measurement if the limit lies between the bounds" do
    assert_equal :measure, decide(least: 100, most: 600)
  end

  test "doesn't request a measurement before measurable_at" do
    assert_in_delta 4.0, decide(least: 100, most: 600, measurable_in: 4.0)
    assert_in_delta 15.0, decide(least: 100, most: 600, measurable_in: Float::INFINITY)
  end

  test "without a limit only returns when to look again" do
    policy = Skep::Swarm::Memory::MemoryLimitPolicy.new(limit: nil, longest: 30.0)
    facts = facts(least: 9_000, most: 9_000, rate: 100, age: 900.0)
    assert_in_delta 30.0, policy.decide(facts, 900.0)
  end

  private

  def decide(**given)
    facts = facts(**given)
    Skep::Swarm::Memory::MemoryLimitPolicy.new(limit: 500 * MIB).decide(facts,
                                                                        given.fetch(:age, 200.0))
  end

  # In MiB, MiB a second and seconds; the node was ready at 0.
  def facts(least:, most:, rate: 0, age: 200.0, measurable_in: 0.0,
            still: false)
    Skep::Swarm::Memory::MemoryLimitPolicy::Facts.new(
      uss_min: least * MIB, uss_max: most * MIB, rate: rate * MIB, ready_at: 0.0,
      measurable_at: age + measurable_in, still:
    )
  end
end
