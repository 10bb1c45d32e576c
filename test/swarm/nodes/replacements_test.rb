# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ReplacementsTest < Skep::TestCase
  Nodes = Skep::Swarm::Nodes
  Exit = Skep::Swarm::IPC::ExitStatus
  private_constant :Nodes, :Exit

  # In place of the channel, BootQueue and GracePeriod: records the calls.
  class Calls < Array
    def post(type, *) = push(type)
    def enqueue(_slot, mold: nil) = push([:enqueue, mold].compact)
    def cancel(_slot) = push(:cancel)
    def give(_node) = push(:give)
    def close = nil
  end
  Mold = Struct.new(:number)
  private_constant :Calls, :Mold

  def setup
    super
    @calls = Calls.new
    @events = []
    bus = Skep::Swarm::Runtime::EventBus.new
    bus.subscribe { |event| @events << event.name }
    @replacements = Nodes::Replacements.new(@calls, boots: @calls, events: bus)
    @slot = Nodes::Slot.new(0, 0)
    @old = ready(launch)
    @outcomes = []
  end

  test "stops the old node once its successor is ready, and succeeds after its exit" do
    successor = begin_one
    ready(successor)
    @replacements.ready(successor)
    assert_equal [:stopping, []], [@old.state, @outcomes]
    leave(@old)
    @replacements.promoted(@slot)
    assert_equal [[true], %i[node_replacing node_replaced]], [@outcomes, @events]
  end

  test "waits for a successor that isn't ready when the old node exits" do
    successor = begin_one
    leave(@old)
    @replacements.promoted(@slot)
    assert_empty @outcomes
    ready(successor)
    @replacements.ready(successor)
    assert_equal [true], @outcomes
  end

  test "fails if a promoted successor exits before it is ready" do
    successor = begin_one
    leave(@old)
    @replacements.promoted(@slot)
    leave(successor)
    @replacements.failed(@slot)
    assert_equal [[false], %i[node_replacing replacement_failed]], [@outcomes, @events]
  end

  test "the readiness of the old node doesn't complete its replacement" do
    @slot = Nodes::Slot.new(1, 0)
    booting = launch
    begin_one
    ready(booting)
    @replacements.ready(booting)
    assert_empty @outcomes
  end

  test "a successor that is being killed doesn't take over the slot" do
    successor = begin_one
    ready(successor)
    successor.kill("reload")
    @replacements.ready(successor)
    assert_equal :ready, @old.state
  end

  test "calls a when_over block once, after the replacement or when the swarm stops" do
    begin_one
    @replacements.when_over(@slot) { @outcomes << :waited }
    @replacements.failed(@slot)
    begin_one
    @replacements.when_over(@slot) { @outcomes << :waited }
    @replacements.abandon
    assert_equal [false, :waited, false, :waited], @outcomes
  end

  private

  def begin_one
    @replacements.start(@slot, "restart") { |succeeded| @outcomes << succeeded }
    launch
  end

  def launch
    node = Nodes::NodeProcess.new(0, @slot, Mold.new(0), 1.0)
    node.listens_to(Calls.new)
    @slot.launch(node)
    node
  end

  def ready(node)
    node.ready(2.0)
    @slot.ready
    node
  end

  def leave(node)
    node.ended(Exit.new(0))
    @slot.leave(node, Exit.new(0), 3.0, within: 60.0)
  end
end
