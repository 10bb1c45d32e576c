# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SparePoolTest < Skep::TestCase
  Swarm = Skep::Swarm
  Config = Struct.new(:spares)

  # In place of BootQueue, Replacements and CrashAttribution: what was asked of them.
  class Asked
    attr_reader :asked

    def initialize = @asked = []
    def inform(node) = @asked << [:inform, node]
    def later(slot, _seconds) = @asked << [:later, slot]
    def promoted(slot) = @asked << [:promoted, slot]
    def complete(slot) = @asked << [:complete, slot]
  end

  # In place of a channel: what was sent.
  class Sent < Array
    def post(type, facts) = push([type, facts])
  end
  private_constant :Swarm, :Config, :Asked, :Sent

  def setup
    super
    @others = Asked.new
    @spares = Swarm::Nodes::SparePool.new(Config.new(2), boots: @others, replacements: @others,
                                                             crash_attribution: @others)
    @first, @second = @spares.slots
    @slot = Swarm::Nodes::Slot.new(3, 1)
  end

  test "none steps in where none has booted, or the only one is being ended" do
    boot(@first)
    refute @spares.step_in(@slot)
    ended = spare(@second)
    ended.reason = "hung"
    refute @spares.step_in(@slot)
    refute_predicate @slot, :live?
    assert_empty @others.asked
  end

  test "a spare takes a free slot, knows the suspects first, and its own slot is refilled" do
    node = spare(@second)
    assert @spares.step_in(@slot)
    assert_equal [node], @slot.nodes
    assert_equal [["step_in", { "node" => 3, "task" => 1 }]], node.channel
    assert_equal [[:inform, node], [:later, @second]], @others.asked
    assert_equal 3, node.id
    assert_empty @second.nodes
  end

  test "a spare is the successor of a node whose exit isn't recorded yet" do
    dead = boot(@slot)
    @slot.ready
    @slot.lose
    node = spare(@first)
    assert @spares.step_in(@slot)
    assert_equal [dead, node], @slot.nodes
    assert_equal :promoted, @slot.leave(dead, nil, 1.0, within: 60.0)
    assert_equal node, @slot.node
  end

  test "each spare steps in once" do
    nodes = [spare(@first), spare(@second)]
    slots = Array.new(3) { |id| Swarm::Nodes::Slot.new(id, 0) }
    assert_equal [true, true, false], slots.map { |slot| @spares.step_in(slot) }
    assert_equal [*nodes, nil], slots.map(&:node)
  end

  test "the successor of a spare that steps in has the spare slot" do
    spare(@first)
    @first.replace(:replacement)
    successor = boot(@first)
    assert @spares.step_in(@slot)
    assert_equal [successor], @first.nodes
    assert_includes @others.asked, [:promoted, @first]
  end

  test "where the old spare is stopping its successor steps in, and that completes it" do
    old = spare(@first)
    @first.replace(:replacement)
    successor = spare(@first)
    old.reason = "memory"
    assert @spares.step_in(@slot)
    assert_equal [[successor], [old]], [@slot.nodes, @first.nodes]
    assert_includes @others.asked, [:complete, @first]
  end

  private

  def spare(slot) = boot(slot).tap { |node| node.wait_as_spare(2.0) }

  def boot(slot)
    node = Swarm::Nodes::NodeProcess.new(0, slot, nil, 1.0)
    node.listens_to(Sent.new)
    slot.launch(node)
    node
  end
end
