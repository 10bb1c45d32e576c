# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Nodes that were never forked, on a real page.
class SuspicionsTest < Skep::TestCase
  Swarm = Skep::Swarm
  Exit = Swarm::Exit
  private_constant :Swarm, :Exit

  # What is asked of a manager, and of each node.
  Manager = Struct.new(:stopping, :nodes, :seats) do
    def stopping? = stopping
    def roster = self
  end
  Node = Struct.new(:id, :slot, :reason, :sent) do
    def channel = self
    def send(type, facts) = sent << [type, facts]
    def live? = true
    def helper? = false
  end
  Seat = Struct.new(:id, :deaths)
  private_constant :Manager, :Node, :Seat

  def setup
    super
    @cells = Swarm::Cells.new(nodes: 3, threads: 2)
    @page = Skep::OS::Page.create(@cells.total)
    @nodes = Array.new(3) { |id| Node.new(id, id, nil, []) }
    @manager = Manager.new(false, @nodes, Array.new(3) { |id| Seat.new(id, Swarm::Deaths.new) })
    @told = []
    tell = ->(*said, **facts) { @told << [*said, facts] }
    @suspicions = Swarm::Suspicions.new(@manager, signs: Swarm::Signs.new(@page, @cells), tell:)
  end

  def teardown
    @page.close
    super
  end

  test "takes for a crash what could be the work's fault" do
    { [nil, "SEGV"] => true, [nil, "KILL"] => true, [nil, "TERM"] => true, ["oom", "KILL"] => true,
      ["hung", "KILL"] => true, ["hung", "ABRT"] => true, ["memory_limit", "KILL"] => true,
      ["deaf", "KILL"] => true, [nil, 1] => true, [nil, 0] => true,
      ["restart", "SEGV"] => true, ["stop_timeout", "BUS"] => true,
      ["restart", "KILL"] => false, ["stop_timeout", "KILL"] => false, ["scale", 1] => false,
      ["unhealthy", "KILL"] => false, ["unhealthy", "ABRT"] => false,
      ["memory_budget", "KILL"] => false, ["max_lifetime", "KILL"] => false,
      ["forced", "KILL"] => false }.each do |(reason, how), crash|
      assert_equal crash, crash?(reason, how), "#{reason} #{how}"
    end
  end

  test "takes nothing for a crash while the swarm stops" do
    @manager.stopping = true
    refute crash?(nil, "SEGV")
  end

  test "lets who is forked meanwhile know at once, and all others when it is known how" do
    hold(0, "a job", at: 7)
    @suspicions.charge(@nodes[0])
    assert_equal [["a job", 7, []]],
                 @suspicions.to_plain.map { |one| one.values_at("in_hand", "at", "ends") }
    assert_empty @nodes[1].sent
    @nodes[0].reason = "oom"
    @suspicions.explain(@nodes[0], Exit.new(nil, "KILL"))
    type, facts = @nodes[1].sent.first
    assert_equal ["suspects", ["SIGKILL, oom"], 1],
                 [type, *facts["added"].first.values_at("ends", "crashes")]
    assert_equal [[:work_suspected, @nodes[0],
                   { level: :warn, in_hand: ["a job at 7"], crashes: 1, alone: true }]], @told
  end

  test "says nothing of who had nothing in hand" do
    @suspicions.charge(@nodes[0])
    @suspicions.explain(@nodes[0], Exit.new(nil, "SEGV"))
    assert_empty @told + @nodes[1].sent
  end

  test "counts each thread's, and that none was alone" do
    hold(1, "a", thread: 1)
    hold(1, "b", thread: 2)
    2.times { @suspicions.explain(@nodes[1], Exit.new(nil, "SEGV")) }
    assert_equal [["a", 2, 0], ["b", 2, 0]],
                 @suspicions.to_plain.map { |one| one.values_at("in_hand", "crashes", "alone") }
  end

  test "forgets what was done, and tells so" do
    hold(0, "a")
    @suspicions.explain(@nodes[0], Exit.new(nil, "SEGV"))
    2.times { judged([["a", nil]], guilty: false) }
    assert_empty @suspicions.to_plain
    assert_equal [["suspects", { "dropped" => [["a", nil]] }]], @nodes[2].sent.drop(1)
  end

  test "forgets all of it for new code" do
    hold(0, "a")
    hold(0, "b", thread: 1)
    @suspicions.explain(@nodes[0], Exit.new(nil, "SEGV"))
    2.times { @suspicions.forget }
    assert_empty @suspicions.to_a
    dropped = @nodes[2].sent.filter_map { |_, facts| facts["dropped"] }
    assert_equal [[["a", nil], ["b", nil]]], dropped
  end

  test "counts crashes whose cause is known no more against their seats" do
    @manager.seats.each { |seat| 3.times { |n| seat.deaths.add("work", n.to_f, within: 60.0) } }
    hold(0, "a")
    2.times { @suspicions.explain(@nodes[0], Exit.new(nil, "SEGV")) }
    2.times { judged([["a", nil]], guilty: true) }
    assert_equal [[0.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]],
                 (@manager.seats.map { |seat| seat.deaths.times })
    assert_equal 2, @suspicions.to_plain.first["crashes"]
  end

  test "is remembered by the supervisor's next program" do
    hold(0, "a", at: 3)
    @suspicions.explain(@nodes[0], Exit.new(9))
    plain = JSON.parse(JSON.generate(@suspicions.keep))
    again = Swarm::Suspicions.new(@manager, signs: nil, tell: nil)
    again.recall(plain)
    assert_equal @suspicions.to_a, again.to_a
  end

  private

  def crash?(reason, how)
    node = Node.new(0, 0, reason, [])
    hold(0, "a")
    @suspicions.charge(node)
    exit = how.is_a?(String) ? Exit.new(nil, how) : Exit.new(how, nil)
    before = @told.size
    @suspicions.explain(node, exit)
    @told.size > before
  end

  def hold(slot, text, at: nil, thread: 0)
    pulse = Swarm::Pulse.new(@page, @cells.of(slot, thread:))
    pulse.hold(text)
    pulse.at(at) if at
  end

  def judged(keys, guilty:)
    @suspicions.judged({ "suspects" => keys, "guilty" => guilty })
  end
end
