# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# What is written down for the supervisor's next program is all there is to know: what was made from
# it says the same, and says so from the same variables.
class PersistedTest < Skep::TestCase
  Swarm = Skep::Swarm
  Statm = Skep::OS::Memory::Statm
  private_constant :Swarm, :Statm

  test "when a slot's processes died" do
    deaths = Swarm::Nodes::RestartHistory.new
    deaths.add("work", 1.5, within: 60.0)
    assert_same_facts deaths, Swarm::Nodes::RestartHistory.new.restore(passed_on(deaths.dump))
  end

  test "what a node complained of" do
    unhealthy_reports = Swarm::Health::UnhealthyReports.new
    unhealthy_reports.add("no database", 2.5)
    assert_same_facts unhealthy_reports, Swarm::Health::UnhealthyReports.new.restore(passed_on(unhealthy_reports.dump))
  end

  test "what an absence excused" do
    pause_compensation = Swarm::Health::PauseCompensation.new
    scoreboard = [Swarm::IPC::Scoreboard::ThreadStatus.new(3, 0, 1.0, 20.0)]
    pause_compensation.extend_deadlines(5.0, 15.0, scoreboard)
    claimant = Swarm::Health::PauseCompensation.new.restore(passed_on(pause_compensation.dump))
    assert_equal pause_compensation.apply(scoreboard.first), claimant.apply(scoreboard.first)
    assert_same_facts pause_compensation, claimant
  end

  test "a node's memory" do
    node_memory = aged_memory
    claimant = Swarm::Memory::NodeMemory.restore(passed_on(node_memory.dump))
    assert_equal node_memory.to_plain(900.0), claimant.to_plain(900.0)
    assert_equal node_memory.facts, claimant.facts
    [node_memory, claimant].each { |one| one.seen(resident(900), 950.0) }
    assert_same_facts node_memory, claimant
  end

  test "slots that are free, and those never used" do
    node_table = Swarm::Nodes::NodeTable.new(8)
    nodes = Array.new(3) { node_table.add { |page_index| Struct.new(:page_index).new(page_index) } }
    node_table.remove(nodes[1])
    claimant = Swarm::Nodes::NodeTable.new(8).restore(passed_on(node_table.dump))
    [nodes[0], nodes[2]].each { |node| claimant.put(node) }
    assert_same_facts node_table, claimant
    node = Struct.new(:page_index)
    added = Array.new(2) { claimant.add { |page_index| node.new(page_index) } }
    assert_equal [1, 3], added.map(&:page_index)
  end

  test "what became of a slot's nodes" do
    slot = Swarm::Nodes::Slot.new(3, 0)
    node = Swarm::Nodes::NodeProcess.new(9, slot, Struct.new(:number).new(2), 1.0)
    slot.launch(node)
    node.reason = "hung"
    slot.last_hang = { at: 3.0, reason: "hung" }
    slot.leave(node, Swarm::IPC::ExitStatus.new(nil, "KILL"), 4.0, within: 60.0)
    facts = { memory: nil, beat_age: nil, done: 0, unhealthy: nil }
    claimant = Swarm::Nodes::Slot.new(3, 0).restore(passed_on(slot.dump(nil)), nil, node.mold)
    assert_equal told(slot, facts), told(claimant, facts)
    assert_equal slot.deaths.times, claimant.deaths.times
  end

  test "what a channel had in hand, to the byte" do
    ours, theirs = Swarm::IPC::Channel.pair
    sender = Swarm::IPC::Channel.new(theirs)
    sender.post("event", { "name" => "x" * 5_000 })
    whole = ours.to_io.read_nonblock(5_000)
    middle = Swarm::IPC::Channel.new(ours.to_io).restore("in" => [whole].pack("m0"), "out" => [])
    claimant = Swarm::IPC::Channel.new(ours.to_io).restore(passed_on(middle.remainder))
    heard = []
    assert claimant.receive { |frame| heard << frame["name"].size }
    assert_equal [5_000], heard
  ensure
    [claimant, sender].compact.each(&:close)
  end

  test "what a channel couldn't send yet" do
    ours, theirs = Swarm::IPC::Channel.pair
    1_000.times { |number| ours.post("n", { "number" => number, "text" => "x" * 1_000 }) }
    claimant = Swarm::IPC::Channel.new(ours.to_io).restore(passed_on(ours.remainder))
    receiver, numbers = Swarm::IPC::Channel.new(theirs), []
    until numbers.size == 1_000
      claimant.flush
      wait_readable(theirs)
      receiver.receive { |frame| numbers << frame["number"] }
    end
    assert_equal (0...1_000).to_a, numbers
    assert_equal false, claimant.pending?
  ensure
    [claimant, receiver].compact.each(&:close)
  end

  private

  # As it comes out of the file.
  def passed_on(plain)
    JSON.parse(JSON.generate(plain, max_nesting: 0, allow_nan: true), allow_nan: true)
  end

  def assert_same_facts(one, other)
    assert_equal facts(one), facts(other)
  end

  # All its variables; those of what is ours in them, too.
  def facts(held)
    return held.map { |part| facts(part) } if held.instance_of?(Array)
    return held unless held.class.name.to_s.start_with?("Skep::Swarm") && !held.is_a?(Struct)

    held.instance_variables.reject { |name| held.instance_variable_get(name).nil? }.sort
        .to_h { |name| [name, facts(held.instance_variable_get(name))] }
  end

  def told(slot, facts) = JSON.parse(JSON.generate(slot.to_plain(**facts))).except("last_hang")

  def resident(mebibytes) = Statm.new(rss: mebibytes << 21, anonymous: mebibytes << 20)

  def aged_memory
    node_memory = Swarm::Memory::NodeMemory.new(resident(10), sharers: 3, now: 100.0)
    (1..40).each { |turn| node_memory.seen(resident(10 + turn), 100.0 + (turn * 20)) }
    node_memory.measured({ "rss" => 9, "pss" => 8, "uss" => 7, "shared" => 6, "swap" => 0,
                           "anonymous" => 5, "seconds" => 0.1 }, 800.0)
    node_memory.requested(801.0)
    node_memory
  end
end
