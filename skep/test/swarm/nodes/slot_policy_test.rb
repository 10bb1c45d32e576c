# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Walks each cell of the policy's tables.
class SlotPolicyTest < Skep::TestCase
  Policy = Skep::Swarm::Nodes::SlotPolicy
  Process = Struct.new(:state, :reason, :replace_for, :ready, :lost, :rejected, :killed, :overdue,
                       :stepping_in, keyword_init: true) do
    %i[ready lost rejected killed overdue stepping_in].each do |fact|
      define_method(:"#{fact}?") { self[fact] ? true : false }
    end
  end
  Slot = Struct.new(:node, :successor, :wanted, :reason_to_replace, :not_before,
                    keyword_init: true) do
    def wanted? = wanted
    def nodes = [node, successor].compact
  end
  Budget = Struct.new(:launch, :boot, :surge) do
    def launch?(_slot, _now) = launch
    def boot?(_slot, _now) = boot
    def surge?(_slot) = surge
  end
  NOW = 100.0
  private_constant :Policy, :Process, :Slot, :Budget, :NOW

  CURRENT = {
    empty: [nil],
    in_use: [{ state: :booting }, { state: :ready, ready: true }, { state: :quiet, ready: true },
             { state: :spare, ready: true }, { state: :ready, reason: "hung" }],
    stopped_now: [{ state: :stopping, reason: "memory_limit", replace_for: "memory_limit" }],
    ending: [{ state: :stopping }, { state: :stopping, reason: "restart" },
             { state: :ready, lost: true }, { state: :booting, lost: true },
             { state: :stopping, replace_for: "max_lifetime" }]
  }.freeze
  SUCCESSOR = {
    booting: [{ state: :booting }, { state: :spare, ready: true, stepping_in: true }],
    ready: [{ state: :ready, ready: true }, { state: :quiet, ready: true },
            { state: :spare, ready: true }],
    ending: [{ state: :stopping }, { state: :ready, ready: true, reason: "hung" },
             { state: :booting, lost: true },
             { state: :booting, rejected: true, killed: true, reason: "reload" }],
    rejected: [{ state: :booting, rejected: true }, { state: :ready, ready: true, rejected: true }]
  }.freeze
  WISHES = { none: { wanted: false }, one: { wanted: true },
             new: { wanted: true, reason_to_replace: "restart" } }.freeze
  private_constant :CURRENT, :SUCCESSOR, :WISHES

  test "each cell of a slot without a successor" do
    assert_equal Policy::ALONE.keys, CURRENT.keys
    each_current do |current, node|
      WISHES.each do |wish, facts|
        slot = Slot.new(node:, **facts)
        expected = Policy::ALONE.fetch(current).fetch(wish)
        assert_equal [expected, node], [action(slot), slot.node], "#{current}, #{wish}: #{node}"
      end
    end
  end

  test "each cell of a slot with a successor" do
    each_current do |current, node|
      next unless node

      SUCCESSOR.each do |situation, all|
        all.each do |facts|
          successor = Process.new(**facts)
          slot = Slot.new(node:, successor:, **WISHES[:new])
          expected = Policy::WITH_SUCCESSOR.fetch(current).fetch(situation)
          assert_equal expected, action(slot), "#{current}, #{situation}: #{node} #{successor}"
        end
      end
    end
  end

  test "the tables say what the design says" do
    assert_equal({ none: :wait, one: :launch, new: :launch }, Policy::ALONE[:empty])
    assert_equal({ none: :stop, one: :wait, new: :launch_successor }, Policy::ALONE[:in_use])
    assert_equal :stop, Policy::WITH_SUCCESSOR[:in_use][:ready]
    assert_equal [:kill], Policy::WITH_SUCCESSOR.values.map { |row| row[:rejected] }.uniq
  end

  test "stops the holder of a slot that has a ready successor, and kills a rejected one" do
    node, successor = Array.new(2) { Process.new(state: :ready, ready: true) }
    slot = Slot.new(node:, successor:, wanted: true)
    assert_equal [:stop, node], look(slot)
    successor.rejected = true
    assert_equal [:kill, successor], look(slot)
  end

  test "kills a process that is overdue, whatever else there is to do, unless it has ended" do
    node = Process.new(state: :stopping, overdue: true)
    assert_equal [:kill, node], look(Slot.new(node:, wanted: false))
    node.lost = true
    assert_equal [:wait, nil], look(Slot.new(node:, wanted: false))
  end

  test "stops both processes of a slot that is to have none" do
    node, successor = Process.new(state: :ready), Process.new(state: :booting)
    slot = Slot.new(node:, successor:, wanted: false)
    assert_equal [:stop, node], look(slot)
    node.state = :stopping
    assert_equal [:stop, successor], look(slot)
    successor.state = :stopping
    assert_equal [:wait, nil], look(slot)
  end

  test "launches nothing before its time, and then only within the budget" do
    slot = Slot.new(wanted: true, not_before: NOW + 2)
    assert_equal [:wait, NOW + 2], look(slot)
    slot.not_before = NOW
    assert_equal :launch, look(slot)
    assert_equal %i[wait room], look(slot, Budget.new(false, true, true))
  end

  test "launches a successor only within both budgets, or within one if memory is needed" do
    slot = Slot.new(node: Process.new(state: :ready), **WISHES[:new])
    assert_equal %i[wait room], look(slot, Budget.new(true, false, true))
    assert_equal %i[wait turn], look(slot, Budget.new(true, true, false))
    slot.node = Process.new(**CURRENT[:stopped_now].first)
    assert_equal :launch_successor, look(slot, Budget.new(true, true, false))
    assert_equal %i[wait room], look(slot, Budget.new(true, false, true))
  end

  private

  def each_current
    CURRENT.each do |current, all|
      all.each { |facts| yield current, facts && Process.new(**facts) }
    end
  end

  def look(slot, budget = Budget.new(true, true, true)) = Policy.next(slot, NOW, budget)
  def action(slot) = Array(look(slot)).first
end
