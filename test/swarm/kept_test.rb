# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# What is written down for the supervisor's next program is all there is to know: what was made from
# it says the same, and says so from the same variables.
class KeptTest < Skep::TestCase
  Swarm = Skep::Swarm
  Resident = Skep::OS::Resident
  private_constant :Swarm, :Resident

  test "when a seat's processes died" do
    deaths = Swarm::Deaths.new
    deaths.add("work", 1.5, within: 60.0)
    assert_same_facts deaths, Swarm::Deaths.new.recall(passed_on(deaths.keep))
  end

  test "what a node complained of" do
    complaints = Swarm::Complaints.new
    complaints.add("no database", 2.5)
    assert_same_facts complaints, Swarm::Complaints.new.recall(passed_on(complaints.keep))
  end

  test "what an absence excused" do
    absence = Swarm::Absence.new
    signs = [Swarm::Liveness::Sign.new(3, 0, 1.0, 20.0)]
    absence.over(5.0, 15.0, signs)
    heir = Swarm::Absence.new.recall(passed_on(absence.keep))
    assert_equal absence.excuse(signs.first), heir.excuse(signs.first)
    assert_same_facts absence, heir
  end

  test "a node's memory and how it grew" do
    footprint = aged_footprint
    heir = Swarm::Footprint.recall(passed_on(footprint.keep))
    assert_equal footprint.to_plain(900.0), heir.to_plain(900.0)
    assert_equal footprint.facts, heir.facts
    assert_equal footprint.growth.rows, heir.growth.rows
    assert_equal footprint.growth.life, heir.growth.life
    [footprint, heir].each { |one| one.seen(resident(900), 950.0) }
    assert_same_facts footprint, heir
  end

  test "slots that are free, and those never used" do
    roster = Swarm::Roster.new(8)
    nodes = Array.new(3) { roster.add { |slot| Struct.new(:slot).new(slot) } }
    roster.remove(nodes[1])
    heir = Swarm::Roster.new(8).recall(passed_on(roster.keep))
    [nodes[0], nodes[2]].each { |node| heir.put(node) }
    assert_same_facts roster, heir
    assert_equal [1, 3], Array.new(2) { heir.add { |slot| Struct.new(:slot).new(slot) }.slot }
  end

  test "what became of a seat's nodes" do
    seat = Swarm::Seat.new(3, 0)
    node = Swarm::Node.new(9, seat, Struct.new(:number).new(2), 1.0)
    seat.take(node)
    node.reason = "hung"
    seat.last_hang = { at: 3.0, why: "hung" }
    seat.leave(node, Swarm::Exit.new(nil, "KILL"), 4.0, within: 60.0)
    facts = { memory: nil, beat_age: nil, done: 0, unhealthy: nil }
    heir = Swarm::Seat.new(3, 0).recall(passed_on(seat.keep(nil)), nil, node.mold)
    assert_equal told(seat, facts), told(heir, facts)
    assert_equal seat.deaths.times, heir.deaths.times
  end

  test "what a channel had in hand, to the byte" do
    ours, theirs = Swarm::Channel.pair
    sender = Swarm::Channel.new(theirs)
    sender.send("event", { "name" => "x" * 5_000 })
    whole = ours.to_io.read_nonblock(5_000)
    middle = Swarm::Channel.new(ours.to_io).recall("in" => [whole].pack("m0"), "out" => [])
    heir = Swarm::Channel.new(ours.to_io).recall(passed_on(middle.remainder))
    heard = []
    assert heir.receive { |frame| heard << frame["name"].size }
    assert_equal [5_000], heard
  ensure
    [heir, sender].compact.each(&:close)
  end

  test "what a channel couldn't send yet" do
    ours, theirs = Swarm::Channel.pair
    1_000.times { |number| ours.send("n", { "number" => number, "text" => "x" * 1_000 }) }
    heir = Swarm::Channel.new(ours.to_io).recall(passed_on(ours.remainder))
    receiver, numbers = Swarm::Channel.new(theirs), []
    until numbers.size == 1_000
      heir.flush
      wait_readable(theirs)
      receiver.receive { |frame| numbers << frame["number"] }
    end
    assert_equal (0...1_000).to_a, numbers
    assert_equal false, heir.pending?
  ensure
    [heir, receiver].compact.each(&:close)
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

  def told(seat, facts) = JSON.parse(JSON.generate(seat.to_plain(**facts))).except("last_hang")

  def resident(mebibytes) = Resident.new(rss: mebibytes << 21, anonymous: mebibytes << 20)

  def aged_footprint
    footprint = Swarm::Footprint.new(resident(10), sharers: 3, now: 100.0)
    (1..40).each { |turn| footprint.seen(resident(10 + turn), 100.0 + (turn * 20)) }
    footprint.measured({ "rss" => 9, "pss" => 8, "uss" => 7, "shared" => 6, "swap" => 0,
                         "anonymous" => 5, "seconds" => 0.1 }, 800.0)
    footprint.suspected(123)
    footprint.ask(801.0)
    footprint
  end
end
