# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ReplacementsTest < Skep::TestCase
  Nodes = Skep::Swarm::Nodes
  Exit = Skep::Swarm::IPC::ExitStatus
  private_constant :Nodes, :Exit

  # In place of the channel, of BootQueue and of GracePeriod: notes what is asked.
  class Asked < Array
    def post(type, *) = push(type)
    def enqueue(_slot, mold: nil) = push([:enqueue, mold].compact)
    def cancel(_slot) = push(:cancel)
    def give(_node) = push(:give)
    def close = nil
  end
  Mold = Struct.new(:number)
  private_constant :Asked, :Mold

  def setup
    super
    @asked = Asked.new
    @events = []
    bus = Skep::Swarm::Runtime::EventBus.new
    bus.subscribe { |event| @events << event.name }
    @replacements = Nodes::Replacements.new(@asked, boots: @asked, events: bus)
    @slot = Nodes::Slot.new(0, 0)
    @old = ready(launch)
    @over = []
  end

  test "the successor is ready, then the old node goes" do
    successor = begin_one
    ready(successor)
    @replacements.ready(successor)
    assert_equal [:stopping, []], [@old.state, @over]
    leave(@old)
    @replacements.promoted(@slot)
    assert_equal [[true], %i[node_replacing node_replaced]], [@over, @events]
  end

  test "a successor that isn't ready when the old node exits has still to be" do
    successor = begin_one
    leave(@old)
    @replacements.promoted(@slot)
    assert_empty @over
    ready(successor)
    @replacements.ready(successor)
    assert_equal [true], @over
  end

  test "a successor that never gets ready is no success, even if it holds the slot" do
    successor = begin_one
    leave(@old)
    @replacements.promoted(@slot)
    leave(successor)
    @replacements.failed(@slot)
    assert_equal [[false], %i[node_replacing replacement_failed]], [@over, @events]
  end

  test "the node's own readiness ends no replacement" do
    @slot = Nodes::Slot.new(1, 0)
    booting = launch
    begin_one
    ready(booting)
    @replacements.ready(booting)
    assert_empty @over
  end

  test "a successor that is being ended takes nothing over" do
    successor = begin_one
    ready(successor)
    successor.kill("reload")
    @replacements.ready(successor)
    assert_equal :ready, @old.state
  end

  test "who waits for a replacement is told once, when it is over or the swarm stops" do
    begin_one
    @replacements.when_over(@slot) { @over << :waited }
    @replacements.failed(@slot)
    begin_one
    @replacements.when_over(@slot) { @over << :waited }
    @replacements.abandon
    assert_equal [false, :waited, false, :waited], @over
  end

  private

  def begin_one
    @replacements.start(@slot, "restart") { |succeeded| @over << succeeded }
    launch
  end

  def launch
    node = Nodes::NodeProcess.new(0, @slot, Mold.new(0), 1.0)
    node.listens_to(Asked.new)
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
