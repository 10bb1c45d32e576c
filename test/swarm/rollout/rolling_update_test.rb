# frozen_string_literal: true

require "test_helper"
require_relative "rollout_parts"

class RollingUpdateTest < Skep::TestCase
  def setup
    super
    @parts = RolloutParts.new(2, 0, 1)
    @ended = []
  end

  def teardown
    @parts.loop.close
    super
  end

  test "replaces the least busy slot first, one at a time" do
    update.start
    order = Array.new(3) do
      assert_equal 1, asked.size
      asked.first.slot.id.tap { settle(true) }
    end
    assert_equal [1, 2, 0], order
    assert_equal [[nil], :done], [@ended, @update.state]
  end

  test "replaces only the slots it was given" do
    update(slots: [slots[2]]).start
    settle(true)
    assert_equal [[nil], []], [@ended, asked]
  end

  test "ends at the first slot that can't be replaced" do
    update.start
    settle(true)
    settle(false)
    assert_empty asked
    assert_equal :failed, @update.state
    assert_equal ["node 2 could not be replaced, and keeps its process: try again"], @ended
  end

  test "drops slots that are removed meanwhile" do
    update.start
    slots[2].retired = true
    settle(true)
    assert_equal [0], asked.map { |request| request.slot.id }
    slots[0].retired = true
    settle(false)
    assert_equal [nil], @ended
  end

  test "a slot whose node has exited meanwhile is new anyway" do
    update.start
    slots[2].node = nil
    settle(true)
    slots[0].node = RolloutParts.node(@parts.old, slots[0])
    settle(false)
    assert_equal [nil], @ended
  end

  test "fails where the swarm stops" do
    update.start
    @parts.node_pool.stopping = true
    slots[1].node = nil
    settle(false)
    assert_equal :failed, @update.state
  end

  test "every state that it can get into is in the table, and all but three lead on" do
    table = Skep::Swarm::Rollout::RollingUpdate::TRANSITIONS
    assert_empty table.values.flat_map(&:values).uniq - table.keys
    assert_equal %i[done failed rolled_back], table.select { |_, ways| ways.empty? }.keys
  end

  private

  def slots = @parts.slots
  def asked = @parts.node_pool.asked
  def settle(succeeded) = @parts.node_pool.settle(succeeded)

  def update(**how)
    @update = Skep::Swarm::Rollout::RollingUpdate.new("restart", **@parts.to_h, **how) do |why|
      @ended << why
    end
  end
end
