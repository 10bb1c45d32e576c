# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Uses a real event loop and channel. The test acts as the node at the other end.
class NodeMessagesTest < Skep::TestCase
  Swarm = Skep::Swarm
  Mold = Struct.new(:number)
  # In place of Supervisor, NodePool, NodeExits and LivenessMonitor: records the calls.
  class Calls < Array
    def liveness_monitor = self
    def node_ready(node) = push([:node_ready, node])
    def check_boot = nil
    def became_mold(node) = push([:became_mold, node])
    def node_leaving(node, for_quiet:) = push([:node_leaving, node, *for_quiet])
    def channel_closed(node) = push([:channel_closed, node])
    def report_unhealthy(node, reason) = push([:report_unhealthy, node, reason])
    def node_finished(_node) = raise(TypeError, "skep's own bug")
  end
  private_constant :Swarm, :Mold, :Calls

  def setup
    super
    @loop = Skep::OS::EventLoop.new
    @events = []
    bus = Swarm::Runtime::EventBus.new
    bus.keep_running_after_errors
    bus.subscribe { |event| @events << event }
    @calls = Calls.new
    channel, @socket = Swarm::IPC::Channel.pair
    @theirs = Swarm::IPC::Channel.new(@socket)
    @node = Swarm::Nodes::NodeProcess.new(0, Swarm::Nodes::Slot.new(3, 0), Mold.new(0), 1.0)
    messages = Swarm::Nodes::NodeMessages.new(@calls, @calls, @calls, loop: @loop, events: bus)
    @node.listens_to(messages.connect(@node, channel))
    @node.slot.launch(@node)
    @node.channel.listen
  end

  def teardown
    @node.channel.close
    [@theirs, @loop].each(&:close)
    super
  end

  test "passes each message to the component that it concerns" do
    receive(["ready"], ["unhealthy", { "reason" => "no database" }], ["leaving"])
    assert_equal [[:node_ready, @node], [:report_unhealthy, @node, "no database"],
                  [:node_leaving, @node]], @calls
  end

  test "ignores a repeated ready, but not a repeated leaving" do
    receive(["ready"], ["ready"], ["leaving"], ["leaving"])
    assert_equal %i[node_ready node_leaving node_leaving], @calls.map(&:first)
  end

  test "publishes a node's event with its level, and prefixes facts with reserved names" do
    receive(["event", { "name" => "paid", "level" => "warn",
                        "facts" => { "amount" => 3, "node" => 9, "pid" => 1 } }])
    facts = { node: 3, mold: 0, pid: nil, amount: 3, its_node: 9, its_pid: 1 }
    assert_equal [["paid", :warn, facts]],
                 @events.map { |event| [event.name, event.level, event.facts] }
  end

  test "records a failure and a refusal in the slot, and publishes node_failed" do
    receive(["failed", { "sentence" => "no database", "refused" => true, "exit_code" => 75 }])
    assert_equal ["no database", "no database", 75],
                 [@node.slot.failure, @node.slot.refusal, @node.slot.refusal_code]
    assert_equal [[:node_failed, "no database"]], published(:error)
  end

  test "records what a process has raised, and where its threads stand" do
    receive(["failed", { "sentence" => "KeyError: id", "at" => "app.rb:3" }],
            ["lines", { "lines" => [[0, "swarm.rb:2"], [2, "app.rb:7"]] }])
    assert_equal({ pid: nil, error: "KeyError: id", at: "app.rb:3" }, @node.slot.last_failure)
    assert_equal ["app.rb:7", nil], [@node.line(2, 0.0), @node.line(1, 0.0)]
    assert_nil @node.line(2, Skep::OS.now + 60) # it has made progress since
  end

  test "a later failure changes neither the refusal nor its exit code" do
    receive(["failed", { "sentence" => "no database", "refused" => true, "exit_code" => 75 }],
            ["failed", { "sentence" => "a bug", "refused" => false, "exit_code" => 1 }])
    assert_equal ["a bug", "no database", 75],
                 [@node.slot.failure, @node.slot.refusal, @node.slot.refusal_code]
    assert_predicate @node, :refused?
  end

  test "kills a node that sends an invalid message, and handles no further message" do
    receive(["work", { "facts" => 3 }], ["ready"])
    assert_equal [[:node_protocol_error, "facts must be a Hash with valid sums, not 3"]],
                 published(:error).map { |name, error| [name, error[/facts.*/]] }
    assert_equal [true, "protocol_error", []], [@node.killed?, @node.reason, @calls]
    refute_predicate @node.channel, :open?
  end

  test "a node becomes a mold only on request" do
    receive(["became_mold"])
    assert_equal [[:node_protocol_error], []], [published(:error).map(&:first), @calls]
  end

  test "publishes supervisor_error for skep's own error, and continues with the next message" do
    receive(["finished"], ["leaving"])
    assert_equal [[:supervisor_error, "TypeError: skep's own bug"]], published(:error)
    assert_equal [false, [[:node_leaving, @node]]], [@node.killed?, @calls]
  end

  test "reports the end of the channel to NodeExits" do
    @theirs.close
    @loop.turn(5)
    assert_equal [[:channel_closed, @node]], @calls
  end

  private

  def receive(*messages)
    messages.each { |type, facts| @theirs.post(type, facts || {}) }
    @loop.turn(5)
  end

  def published(fact) = @events.map { |event| [event.name, event.facts[fact]] }
end
