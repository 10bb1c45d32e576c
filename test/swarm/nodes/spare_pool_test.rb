# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SparePoolTest < Skep::TestCase
  Swarm = Skep::Swarm
  Config = Struct.new(:spares)

  # In place of BootQueue, Replacements and CrashAttribution: records the calls.
  class Recorder
    attr_reader :calls

    def initialize = @calls = []
    def inform(node) = @calls << [:inform, node]
    def later(slot, _seconds) = @calls << [:later, slot]
    def promoted(slot) = @calls << [:promoted, slot]
    def complete(slot) = @calls << [:complete, slot]
  end

  # In place of a channel: records the messages.
  class Sent < Array
    def post(type, facts) = push([type, facts])
  end
  private_constant :Swarm, :Config, :Recorder, :Sent

  def setup
    super
    @recorder = Recorder.new
    @spares = Swarm::Nodes::SparePool.new(Config.new(2), boots: @recorder, replacements: @recorder,
                                                             crash_attribution: @recorder)
    @first, @second = @spares.slots
    @slot = Swarm::Nodes::Slot.new(3, 1)
  end

  test "no spare steps in if none has booted or the only one is being stopped" do
    boot(@first)
    refute @spares.step_in(@slot)
    stopping = spare(@second)
    stopping.reason = "hung"
    refute @spares.step_in(@slot)
    refute_predicate @slot, :live?
    assert_empty @recorder.calls
  end

  test "a spare gets the suspects, takes a free slot, and its own slot is refilled" do
    node = spare(@second)
    assert @spares.step_in(@slot)
    assert_equal [node], @slot.nodes
    assert_equal [["step_in", { "node" => 3, "task" => 1 }]], node.channel
    assert_equal [[:inform, node], [:later, @second]], @recorder.calls
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

  test "the successor of a spare that steps in takes over the spare slot" do
    spare(@first)
    @first.replace(:replacement)
    successor = boot(@first)
    assert @spares.step_in(@slot)
    assert_equal [successor], @first.nodes
    assert_includes @recorder.calls, [:promoted, @first]
  end

  test "the successor of a stopping spare steps in, which completes the replacement" do
    old = spare(@first)
    @first.replace(:replacement)
    successor = spare(@first)
    old.reason = "memory"
    assert @spares.step_in(@slot)
    assert_equal [[successor], [old]], [@slot.nodes, @first.nodes]
    assert_includes @recorder.calls, [:complete, @first]
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
