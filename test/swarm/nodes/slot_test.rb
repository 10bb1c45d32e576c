# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SlotTest < Skep::TestCase
  Nodes = Skep::Swarm::Nodes
  Exit = Skep::Swarm::IPC::ExitStatus
  private_constant :Nodes, :Exit

  # In place of a channel: discards the messages.
  class NullChannel
    def post(*, **) = true
    def close = nil
  end
  private_constant :NullChannel

  def setup
    super
    @slot = Nodes::Slot.new(0, 0)
  end

  test "starts, runs, and is empty once its process has exited" do
    @slot.wait
    assert_equal :waiting, @slot.state
    node = launch
    assert_equal %i[starting booting], [@slot.state, @slot.status]
    ready(node)
    assert_equal %i[running ready], [@slot.state, @slot.status]
    assert_equal :empty, leave(node)
    assert_equal %i[empty dead], [@slot.state, @slot.status]
    assert_equal 0, @slot.restarts
  end

  test "belongs to the successor once the old process has exited" do
    old = ready(launch)
    @slot.replace(:replacement)
    successor = launch
    assert_equal :replacing, @slot.state
    ready(successor)
    assert_equal :promoted, leave(old)
    assert_equal :replacement, @slot.end_replacement
    assert_equal [successor, :running, 1], [@slot.node, @slot.state, @slot.restarts]
  end

  test "keeps its process if the successor exits" do
    old = ready(launch)
    @slot.replace(:replacement)
    assert_equal :kept, leave(launch)
    assert_equal [:replacement, nil], Array.new(2) { @slot.end_replacement }
    assert_equal [old, :running, 0], [@slot.node, @slot.state, @slot.restarts]
  end

  test "keeps the end of a successor as its failure, unless it has reported one" do
    ready(launch)
    @slot.replace(:replacement)
    leave(launch.tap { |node| node.reason = "boot_timeout" }, Exit.new(nil, "KILL"))
    assert_equal "the new process ended, SIGKILL (boot_timeout)", @slot.failure
    @slot.failure = "no database"
    leave(launch, Exit.new(3))
    assert_equal "no database", @slot.failure
  end

  test "counts no process that refused to begin as a crash, and the next one again" do
    3.times { leave(launch.tap { |node| node.refused = true }, Exit.new(1)) }
    assert_equal [3, { "boot" => 0, "work" => 0 }],
                 [@slot.deaths.times.size, @slot.deaths.counts]
    leave(launch, Exit.new(7))
    assert_equal [1, { "boot" => 1, "work" => 0 }],
                 [@slot.deaths.times.size, @slot.deaths.counts]
  end

  test "is restarting from its process' death until that exit is recorded" do
    recorded = 0
    dead = ready(launch)
    @slot.lose
    @slot.when_exit_recorded { recorded += 1 }
    ready(launch)
    assert_equal :restarting, @slot.state
    leave(dead)
    2.times { @slot.exit_recorded }
    assert_equal [:running, 1], [@slot.state, recorded]
  end

  test "a retired slot stays retired, whatever its processes do" do
    old = ready(launch)
    @slot.replace(:replacement)
    successor = launch
    @slot.retire
    ready(successor)
    leave(old)
    leave(successor)
    assert_equal :retired, @slot.state
    assert_raises(Skep::Swarm::Runtime::StateMachine::Impossible) { launch }
  end

  test "every state allows finish and retire, and every transition leads to a known state" do
    table = Nodes::Slot::TRANSITIONS
    table.each do |state, row|
      assert_equal :retired, row.fetch(:retire), state
      assert_includes %i[finished retired], row.fetch(:finish), state
      assert_empty row.values - table.keys, state
    end
  end

  # With "done" and :done the JSON would have a key twice, which newer JSON libraries refuse.
  test "to_plain has each key of the work once, even if the work reports done" do
    plain = Struct.new(:state, :pid, :mold, :assigned?, :work)
    @slot.launch(plain.new(:ready, 7, nil, true, { "done" => 3 }))
    work = @slot.to_plain(memory: nil, beat_age: 0.1, done: 5, unhealthy: nil)[:work]
    assert_equal [["done", 3]], work.map { |name, value| [name.to_s, value] }
  end

  private

  def launch
    node = Nodes::NodeProcess.new(0, @slot, nil, 1.0)
    node.listens_to(NullChannel.new)
    node.forked(7, nil)
    @slot.launch(node)
    node
  end

  def ready(node)
    node.ready(2.0)
    @slot.ready
    node
  end

  def leave(node, exit = Exit.new(0))
    node.ended(exit)
    @slot.leave(node, exit, 3.0, within: 60.0)
  end
end
