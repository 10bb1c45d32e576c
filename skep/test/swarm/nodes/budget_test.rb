# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class BudgetTest < Skep::TestCase
  Config = Struct.new(:boot_concurrency)
  Node = Struct.new(:state, :replace_for, :pid) do
    def helper? = false
  end
  Slot = Struct.new(:node, :trial_mold, :successor_due?)
  Mold = Struct.new(:ready?)
  Table = Struct.new(:nodes) do
    def include?(node) = nodes.include?(node)
  end
  private_constant :Config, :Node, :Slot, :Mold, :Table

  def setup
    super
    @table = Table.new([])
    @slots = Array.new(2) { Slot.new(Node.new(:ready)) }
    @budget = Skep::Swarm::Nodes::Budget.new(Config.new(2), node_table: @table,
                                                            slots: -> { @slots },
                                                            spare: ->(_slot) { @spare })
  end

  test "nothing is launched before the swarm has started, nor without a mold" do
    refute @budget.boot?(@slots[0], 9.0)
    @budget.open
    refute @budget.boot?(@slots[0], 9.0)
    @budget.mold = Mold.new(true)
    assert @budget.boot?(@slots[0], 9.0)
    @budget.close
    refute @budget.boot?(@slots[0], 9.0)
  end

  test "a slot that is to try a mold waits for that mold" do
    open
    @slots[0].trial_mold = Mold.new(false)
    assert_equal [false, true], @slots.map { |slot| @budget.boot?(slot, 9.0) }
    assert_same @slots[0].trial_mold, @budget.mold_for(@slots[0])
  end

  test "no more nodes boot at a time than boot_concurrency allows, unless a spare waits" do
    open
    booting = Array.new(2) { Node.new(:booting) }
    @table.nodes.concat(booting)
    booting.each { |node| @budget.booting(node) }
    refute @budget.launch?(@slots[0], 9.0)
    @spare = :spare
    assert @budget.launch?(@slots[0], 9.0)
    @spare = nil
    booting.first.state = :ready
    assert @budget.launch?(@slots[0], 9.0)
  end

  test "one process at a time is forked after a refusal, until one succeeds" do
    open
    @budget.backoff.refused(9.0)
    assert_equal [false, true], [9.05, 9.1].map { |now| @budget.boot?(@slots[0], now) }
    node = Node.new(:booting)
    @table.nodes << node
    @budget.booting(node)
    refute @budget.boot?(@slots[1], 9.1)
    node.pid = 42
    assert @budget.boot?(@slots[1], 9.1)
    node.pid = nil
    @budget.backoff.granted
    assert @budget.boot?(@slots[1], 9.1)
  end

  test "a slot whose successor was refused keeps its turn" do
    @budget.replacing(@slots[0])
    refute @budget.surge?(@slots[0])
    @slots[0][:successor_due?] = true
    assert @budget.surge?(@slots[0])
    refute @budget.surge?(@slots[1])
  end

  test "one slot at a time is replaced by a rollout, and one in twenty for memory or lifetime" do
    assert @budget.surge?(@slots[0])
    @budget.replacing(@slots[0])
    assert_equal false, @budget.surge?(@slots[1])
    @slots[1].node.replace_for = "max_lifetime"
    assert @budget.surge?(@slots[1])
    @budget.replacing(@slots[1])
    refute @budget.surge?(@slots[1]), "its own replacement has no end yet"
    @slots[1].node.replace_for = nil
    refute @budget.surge?(@slots[1]), "a rollout replaces another slot"
    @slots[1].node.replace_for = "max_lifetime"
    third = Slot.new(Node.new(:ready, "max_lifetime"))
    refute @budget.surge?(third)
    @slots *= 20
    assert @budget.surge?(third)
    @slots.pop(38)
    @budget.replaced(@slots[1])
    assert @budget.surge?(third)
  end

  private

  def open
    @budget.open
    @budget.mold = Mold.new(true)
  end
end
