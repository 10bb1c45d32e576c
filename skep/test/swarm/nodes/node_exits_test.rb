# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Uses a real event loop, nodes and slots. The nodes' processes are idle.
class NodeExitsTest < Skep::TestCase
  Swarm = Skep::Swarm
  Exit = Swarm::IPC::ExitStatus
  Config = Struct.new(:restart_window, :kill_timeout, :liveness_timeout, :name, :one_of_several?)
  Mold = Struct.new(:number, :live, :heard_at) do
    def live? = live
    def kill = self.live = false
    def watches = @watches ||= []
  end
  # In place of the channel, NodePool, Scoreboard and CgroupMemory: records the calls.
  class Calls < Array
    attr_writer :oom
    attr_accessor :node_table

    def cgroup_memory = self
    def scoreboard = self
    def oom?(_status) = @oom
    def lost(_node) = push(:lost)
    def removed(_node) = push(:removed)
    def exit_published(_node) = push(:exit_published)
    def exited(_node, left) = push([:exited, left])
    def post(type, *) = push(type)
    def drain = push(:drain)
    def close = nil
    def in_flight(_node) = ["job 1"]
  end
  private_constant :Swarm, :Exit, :Config, :Mold, :Calls

  def setup
    super
    @loop = Skep::OS::EventLoop.new
    @lifecycle = Swarm::Supervisor::Lifecycle.new
    @events, bus = [], Swarm::Runtime::EventBus.new
    bus.subscribe { |event| @events << event }
    @calls = Calls.new
    @nodes = Swarm::Nodes::NodeTable.new(8)
    @calls.node_table = @nodes
    config = Config.new(60.0, 0.05, 0.1, "a", false)
    @exits = Swarm::Nodes::NodeExits.new(@calls, config, @lifecycle, loop: @loop, events: bus)
    @slot = Swarm::Nodes::Slot.new(0, 0, options: config)
    @mold = Mold.new(0, true, 0.0)
  end

  def teardown
    @loop.close
    Process.wait(@reap) if @reap && Skep::OS::Pidfd.native?
    super
  end

  test "publishes node_died once the node is lost, then the pool sees to the slot" do
    node = ready(launch)
    @exits.record_exit(node, Exit.new(3))
    assert_equal [:node_died], @events.map(&:name)
    assert_equal [3, "work", ["job 1"], :warn],
                 [*@events[0].facts.values_at("exit_status", :phase, :in_flight), @events[0].level]
    assert_equal [:drain, :lost, :removed, :exit_published, %i[exited empty]], @calls
    assert_equal [[], false, :dead], [@nodes.nodes, @slot.live?, node.state]
  end

  test "publishes a clean exit as node_exited, not as node_died" do
    @exits.record_exit(ready(launch), Exit.new(0))
    assert_equal [:node_exited, :info], [@events[0].name, @events[0].level]
  end

  test "records the exit of a node only once" do
    node = ready(launch)
    2.times { @exits.record_exit(node, Exit.new(3)) }
    assert_equal [:node_died], @events.map(&:name)
  end

  test "an OOM kill has the reason oom" do
    @calls.oom = true
    @exits.record_exit(ready(launch), Exit.new(nil, "KILL"))
    assert_equal "oom", @events[0].facts[:reason]
  end

  test "a node that skep killed in a stop makes it a forced one, however it was seen to end" do
    @lifecycle.stop
    node = ready(launch)
    node.kill("hung")
    @exits.record_exit(node, Exit.new) # it can't be killed, or its mold has died
    assert_predicate @lifecycle, :killed?
  end

  test "a node that ends well, or crashes, while it is replaced makes no stop a forced one" do
    @lifecycle.stop
    [Exit.new(0), Exit.new(nil, "SEGV")].each do |exit|
      node = ready(launch)
      node.reason = "restart"
      node.retire
      @exits.record_exit(node, exit)
    end
    refute_predicate @lifecycle, :killed?
  end

  test "a successor takes over the slot of a node that exits" do
    node = ready(launch)
    successor = ready(launch)
    @exits.record_exit(node, Exit.new(0))
    assert_equal [successor, %i[exited promoted]], [@slot.node, @calls.last]
  end

  # Without the kernel's pidfds a thread reaps such a child at once.
  if Skep::OS::Pidfd.native?
    test "a node that is killed is recorded at once, with its signal" do
      node = follow(process)
      node.pidfd.signal(:KILL)
      @loop.turn(5) until node.state == :dead
      assert_equal [:node_died], @events.map(&:name)
      assert_equal ["KILL", %i[exited empty]], [@events[0].facts["signal"], @calls.last]
    end

    test "a node that is killed by a real-time signal is recorded with its number" do
      node = follow(process)
      node.pidfd.signal(40)
      @loop.turn(5) until node.state == :dead
      assert_equal "40", @events[0].facts["signal"]
    end

    test "a node that ends with an exit status is recorded at once, with that" do
      node = follow(Process.spawn("exit 7"))
      @loop.turn(5) until node.state == :dead
      assert_equal 7, @events[0].facts["exit_status"]
    end

    test "what a failed node leaves in its process group has ended when its exit is recorded" do
      reader, writer = IO.pipe
      pid = Process.spawn("sleep infinity & echo $!; exit 7", pgroup: true, out: writer)
      left = Skep.pidfd(reader.gets)
      node = follow(pid)
      @loop.turn(5) until node.state == :dead
      assert left.wait(timeout: 10), "it still runs"
      [reader, writer, left].each(&:close)
    end
  end

  test "a node that ends with status 0 is lost, and waits for the report of its exit" do
    node = follow(Process.spawn("exit 0"))
    @loop.turn(5) until node.lost?
    assert_equal [%i[drain lost], []], [@calls, @events]
    @exits.record_exit(node, Exit.new(0))
    assert_equal :node_exited, @events.last.name
  end

  test "a node that can't be watched is polled, and its group ends if its mold can't end it" do
    reader, writer = IO.pipe
    pid = Process.spawn("sleep infinity & exit 7", pgroup: true, out: writer)
    writer.close
    node = ready(launch(pid))
    node.pidfd.define_singleton_method(:watchable?) { false }
    @mold.live = false
    @exits.follow(node)
    @loop.turn(5) until node.state == :dead
    assert_nil wait_readable(reader).getc, "what it has started still runs"
    assert_equal [:node_died, nil], [@events.last.name, @events.last.facts["exit_status"]]
  ensure
    reader.close
    Process.wait(pid)
  end

  test "the supervisor reaps the nodes of a dead mold" do
    node = ready(launch(process))
    @exits.adopt(node)
    node.pidfd.signal(:KILL)
    @loop.turn(5) until node.state == :dead
    assert_equal "KILL", @events.find { |event| event.name == :node_died }.facts["signal"]
    assert_raises(Errno::ECHILD) { Process.wait(node.pid) }
  end

  test "a node that closes its channel and doesn't exit is killed after kill_timeout" do
    node = ready(launch(process))
    @exits.channel_closed(node)
    refute_predicate node, :killed?
    @loop.turn(5) until node.killed?
    assert_equal ["channel_closed", [:node_channel_closed]], [node.reason, @events.map(&:name)]
    @exits.record_exit(node, Exit.of(node.pidfd.wait(timeout: 30)))
  end

  test "kill_unwanted kills the process of a node that was given up" do
    pid = process
    @exits.kill_unwanted(Skep::OS::Pidfd.open(pid))
    assert_equal "KILL", Signal.signame(Process.wait2(pid).last.termsig)
  end

  private

  def process = Process.spawn("sleep", "60", pgroup: true)

  # A node that is followed; the test reaps its process.
  def follow(pid)
    @reap = pid
    node = ready(launch(pid))
    @exits.follow(node)
    node
  end

  def launch(pid = 1)
    node = @nodes.add { |index| Swarm::Nodes::NodeProcess.new(index, @slot, @mold, 1.0) }
    node.listens_to(@calls)
    node.forked(pid, pid == 1 ? nil : Skep::OS::Pidfd.open(pid))
    @slot.launch(node)
    node
  end

  def ready(node)
    node.ready(2.0)
    node
  end
end
