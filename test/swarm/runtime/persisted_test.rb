# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Each class dumps its facts for the supervisor's next program. The object that is restored from
# them has the same variables and reports the same facts.
class PersistedTest < Skep::TestCase
  Swarm = Skep::Swarm
  private_constant :Swarm

  test "RestartHistory keeps when a slot's processes died" do
    deaths = Swarm::Nodes::RestartHistory.new
    deaths.add("work", 1.5, within: 60.0)
    assert_same_facts deaths, Swarm::Nodes::RestartHistory.new.restore(reloaded(deaths.dump))
  end

  test "UnhealthyReports keeps a node's reports" do
    unhealthy_reports = Swarm::Health::UnhealthyReports.new
    unhealthy_reports.add("no database", 2.5)
    restored = Swarm::Health::UnhealthyReports.new.restore(reloaded(unhealthy_reports.dump))
    assert_same_facts unhealthy_reports, restored
  end

  test "PauseCompensation keeps the extended deadlines" do
    pause_compensation = Swarm::Health::PauseCompensation.new
    scoreboard = [Swarm::IPC::Scoreboard::ThreadStatus.new(3, 0, 1.0, 20.0)]
    pause_compensation.extend_deadlines(5.0, 15.0, scoreboard)
    restored = Swarm::Health::PauseCompensation.new.restore(reloaded(pause_compensation.dump))
    assert_equal pause_compensation.apply(scoreboard.first), restored.apply(scoreboard.first)
    assert_same_facts pause_compensation, restored
  end

  test "NodeTable keeps which page indexes are free, and which were never used" do
    node = Struct.new(:page_index, :pid)
    node_table = Swarm::Nodes::NodeTable.new(8)
    nodes = Array.new(3) { node_table.add { |page_index| node.new(page_index, 42) } }
    node_table.remove(nodes[1])
    restored = Swarm::Nodes::NodeTable.new(8).restore(reloaded(node_table.dump))
    [nodes[0], nodes[2]].each { |node| restored.put(node) }
    assert_same_facts node_table, restored
    added = Array.new(2) { restored.add { |page_index| node.new(page_index) } }
    assert_equal [1, 3], added.map(&:page_index)
  end

  test "Slot keeps its node's exit, and its deaths" do
    slot = Swarm::Nodes::Slot.new(3, 0)
    node = Swarm::Nodes::NodeProcess.new(9, slot, Struct.new(:number).new(2), 1.0)
    slot.launch(node)
    node.reason = "hung"
    slot.last_hang = { at: 3.0, reason: "hung" }
    slot.leave(node, Swarm::IPC::ExitStatus.new(nil, "KILL"), 4.0, within: 60.0)
    facts = { memory: nil, beat_age: nil, done: 0, unhealthy: nil }
    restored = Swarm::Nodes::Slot.new(3, 0).restore(reloaded(slot.dump(nil)), nil, node.mold)
    assert_equal plain_facts(slot, facts), plain_facts(restored, facts)
    assert_equal slot.deaths.times, restored.deaths.times
  end

  test "Channel keeps a partly received message, to the byte" do
    ours, theirs = Swarm::IPC::Channel.pair
    sender = Swarm::IPC::Channel.new(theirs)
    sender.post("event", { "name" => "x" * 5_000 })
    whole = ours.to_io.read_nonblock(5_000)
    middle = Swarm::IPC::Channel.new(ours.to_io).restore("in" => [whole].pack("m0"), "out" => [])
    restored = Swarm::IPC::Channel.new(ours.to_io).restore(reloaded(middle.remainder))
    sizes = []
    assert restored.receive { |frame| sizes << frame["name"].size }
    assert_equal [5_000], sizes
  ensure
    [restored, sender].compact.each(&:close)
  end

  test "Channel keeps the messages that it couldn't send yet" do
    ours, theirs = Swarm::IPC::Channel.pair
    1_000.times { |number| ours.post("n", { "number" => number, "text" => "x" * 1_000 }) }
    restored = Swarm::IPC::Channel.new(ours.to_io).restore(reloaded(ours.remainder))
    receiver, numbers = Swarm::IPC::Channel.new(theirs), []
    until numbers.size == 1_000
      restored.flush
      wait_readable(theirs)
      receiver.receive { |frame| numbers << frame["number"] }
    end
    assert_equal (0...1_000).to_a, numbers
    assert_equal false, restored.pending?
  ensure
    [restored, receiver].compact.each(&:close)
  end

  private

  # The dump as the next program reads it.
  def reloaded(plain)
    JSON.parse(JSON.generate(plain, max_nesting: 0, allow_nan: true), allow_nan: true)
  end

  def assert_same_facts(one, other)
    assert_equal facts(one), facts(other)
  end

  # All instance variables, including those of skep's objects in them.
  def facts(held)
    return held.map { |part| facts(part) } if held.instance_of?(Array)
    return held unless held.class.name.to_s.start_with?("Skep::Swarm") && !held.is_a?(Struct)

    held.instance_variables.reject { |name| held.instance_variable_get(name).nil? }.sort
        .to_h { |name| [name, facts(held.instance_variable_get(name))] }
  end

  def plain_facts(slot, facts)
    JSON.parse(JSON.generate(slot.to_plain(**facts))).except("last_hang")
  end
end
