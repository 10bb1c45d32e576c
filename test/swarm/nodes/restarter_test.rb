# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RestarterTest < Skep::TestCase
  Swarm = Skep::Swarm
  # In place of the BootQueue: records what is launched, and in how many seconds.
  class Boots < Array
    def enqueue(slot) = push([slot, :now])
    def later(slot, seconds) = push([slot, seconds])
    def start_next = nil
  end
  private_constant :Swarm, :Boots

  def setup
    super
    @boots = Boots.new
    @events = Swarm::Runtime::EventBus.new
    @slot = Swarm::Nodes::Slot.new(0, 0)
    @published = []
    @events.subscribe { |event| @published << event.name }
  end

  # A refork whose successor has died.
  test "a slot whose node became a mold gets a node, however an earlier one had ended" do
    restarter = restarter(restart: :never)
    leave(exit: Swarm::IPC::ExitStatus.new(0, nil)) # its last recorded exit
    restarter.after(@slot, leave(exit: nil))
    assert_equal [[[@slot, 0.0]], []], [@boots, @published]
  end

  test "a slot whose node has ended follows the restart policy" do
    node = leave(exit: Swarm::IPC::ExitStatus.new(0, nil))
    restarter(restart: :never).after(@slot, node)
    assert_equal [[], [:node_finished]], [@boots, @published]
  end

  private

  def restarter(**options)
    config = Swarm::Definition::Config.new("a", options)
    Swarm::Nodes::Restarter.new(config, loop: nil, events: @events, slots: [@slot], boots: @boots,
                                        spares: nil)
  end

  # Gives the slot a node that has ended so; nil: its process lives on as a mold.
  def leave(exit:)
    node = Swarm::Nodes::NodeProcess.new(0, @slot, Struct.new(:number).new(0), Skep::OS.now)
    node.listens_to(Struct.new(:open) { def close = nil }.new)
    @slot.launch(node)
    node.forked(1, nil)
    node.ready(Skep::OS.now)
    @slot.ready
    node.ended(exit)
    @slot.leave(node, exit, Skep::OS.now, within: 60.0)
    node
  end
end
