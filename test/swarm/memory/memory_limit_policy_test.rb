# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemoryLimitPolicyTest < Skep::TestCase
  test "replaces a node over its limit, and stops a node at one and a half times the limit" do
    policy = Skep::Swarm::Memory::MemoryLimitPolicy.new(500)
    decisions = [0, 500, 501, 750, 751].map { |uss| policy.decide(uss) }
    assert_equal [nil, nil, :replace, :replace, :stop], decisions
  end
end
