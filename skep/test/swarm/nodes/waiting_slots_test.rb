# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class WaitingSlotsTest < Skep::TestCase
  Slot = Struct.new(:live?, :kind)
  # room: how many more may boot; turns: the kinds of replacements that may begin.
  Budget = Struct.new(:room, :turns) do
    def room?(_now) = room.positive?
    def turn?(kind) = turns.include?(kind)
    def kind(slot) = slot.kind
  end
  private_constant :Slot, :Budget

  def setup
    super
    @budget = Budget.new(9, %i[rollout own_reason])
    @waiting = Skep::Swarm::Nodes::WaitingSlots.new(@budget)
    @live, @empty = Slot.new(true), Slot.new(false)
    @rollouts = Array.new(2) { Slot.new(true, :rollout) }
    @own = Slot.new(true, :own_reason)
  end

  test "slots without a process come first, then those that have waited longest" do
    put_all
    assert_equal [@empty, @live, @own, *@rollouts], due
  end

  test "no slot is due without room, but an empty one for which a spare waits" do
    put_all
    @budget.room = 0
    assert_empty due
    assert_equal [@empty], due(spares: -> { true })
  end

  test "no slot is due once another has taken the room or the turn" do
    put_all
    @budget.turns = %i[rollout]
    assert_equal([@empty, @live, @rollouts[0]], due { |slot| @budget.turns = [] if slot.kind })
    @budget.room = 1
    assert_equal([@empty], due { @budget.room = 0 })
  end

  test "a slot that waits for something else, or no longer, isn't due for what it waited for" do
    put_all
    @waiting.put(@rollouts[0], nil)
    @waiting.put(@own, :room)
    @budget.turns = %i[own_reason rollout]
    assert_equal [@empty, @live, @own, @rollouts[1]], due
    [@empty, @live, @own, @rollouts[1]].each { |slot| @waiting.put(slot, nil) }
    refute_predicate @waiting, :any?
  end

  test "what is done for one slot may end the wait of the next" do
    put_all
    assert_equal([@empty], due { @waiting.clear })
  end

  private

  def put_all
    [*@rollouts, @own].each { |slot| @waiting.put(slot, :turn) }
    [@live, @empty].each { |slot| @waiting.put(slot, :room) }
  end

  def due(spares: -> { false })
    [].tap do |seen|
      @waiting.each_due(spares:) do |slot|
        seen << slot
        yield slot if block_given?
      end
    end
  end
end
