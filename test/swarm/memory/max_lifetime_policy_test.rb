# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MaxLifetimePolicyTest < Skep::TestCase
  Fixed = Struct.new(:rand)
  private_constant :Fixed

  test "returns the seconds that are left of a node's lifetime" do
    assert_in_delta 40.0, policy.decide(ready_at: 10.0, part: 1.0, now: 70.0)
    assert_in_delta 50.0, policy.decide(ready_at: 10.0, part: 1.1, now: 70.0)
  end

  test "replaces a node at the end of its lifetime" do
    assert_equal :replace, policy.decide(ready_at: 10.0, part: 1.0, now: 110.0)
    assert_equal :replace, policy.decide(ready_at: 10.0, part: 0.9, now: 101.0)
  end

  test "varies lifetimes by at most a tenth" do
    parts = [0.0, 0.5, 1.0].map { |random| policy(Fixed.new(random)).part }
    assert_equal [0.9, 1.0, 1.1], parts.map { |part| part.round(6) }
  end

  private

  def policy(random = Random) = Skep::Swarm::Memory::MaxLifetimePolicy.new(100.0, random:)
end
