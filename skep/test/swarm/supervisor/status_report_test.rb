# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class StatusReportTest < Skep::TestCase
  StatusReport = Skep::Swarm::Supervisor::StatusReport
  Slot = Struct.new(:work_bytes, :id, :node)
  NodePool = Struct.new(:slots, :spare_slots)
  Supervisor = Struct.new(:node_pool)
  private_constant :Slot, :NodePool, :Supervisor

  test "leaves out the largest facts if all of them together are too large" do
    mebibytes = [1, 4, 0, 4, 3, 2].map { |size| Slot.new(size << 20) }
    assert_equal [4], left_out(mebibytes).map { |slot| slot.work_bytes >> 20 }
    assert_empty left_out(Array.new(1_000) { Slot.new(10_000) })
  end

  test "facts that are left out are looked at for problems all the same" do
    node = Struct.new(:work).new({ "partitions" => [{ "paused" => true }] })
    slots = [Slot.new(13 << 20, 0, node), Slot.new(1, 1, node)]
    report = StatusReport.new(Supervisor.new(NodePool.new(slots, [])))
    shown = [{ id: 0, work: { "left_out" => 13 << 20 } }, { id: 1, work: { "done" => 1 } }]
    looked_at = shown.map { |plain| report.__send__(:node_as_json, plain) }
    assert_equal [node.work, { "done" => 1 }], looked_at.map { |plain| plain["work"] }
  end

  test "what is too large for the helper lacks backtraces first, then most of the works' facts" do
    hung = { id: 0, last_hang: { reason: "hung", threads: [1] }, work: { "done" => 3, "a" => 1 } }
    plain = { name: "x", nodes: [hung, { id: 1, last_hang: nil, work: {} }] }
    whole, smaller, short = StatusReport.by_size(plain)
    assert_equal plain, whole
    assert_equal({ **plain, nodes: [{ **hung, last_hang: { reason: "hung" } }, plain[:nodes][1]] },
                 smaller)
    assert_equal({ **hung, last_hang: nil, work: { "done" => 3 } }, short[:nodes][0])
  end

  # It has some 100 KB, and was redacted when it came.
  test "a status shows the backtraces of a hang as they are kept" do
    slot = Skep::Swarm::Nodes::Slot.new(0, 0)
    threads = [{ "name" => "main", "backtrace" => ["a.rb:1"] }]
    slot.last_hang = { at: Skep::OS.now, reason: "hung", threads: }
    report = StatusReport.new(Supervisor.new(NodePool.new([slot], [])))
    assert_same threads, report.__send__(:view, slot)[:last_hang][:threads]
  end

  test "figures have each node's memory, and of its work only what it has added up" do
    memory = Class.new { def to_plain(_now) = { uss: 5, pss: 7 } }.new
    work = { "rate" => 2.5, "lag" => 3, "partitions" => [{}] }
    slots = [place(0, memory, work), place("spare 0", nil, {}), place(1, nil, nil)]
    pool = Struct.new(:slots, :spare_slots, :scoreboard).new(slots, [], Class.new do
      def done(_node) = 9
    end.new)
    nodes = StatusReport.new(Supervisor.new(pool)).figures["nodes"]
    assert_equal [{ "done" => 9, "rate" => 2.5, "lag" => 3 }, { "done" => 9 }, {}],
                 nodes.map { |node| node["work"] }
    assert_equal [{ uss: 5, pss: 7 }, nil, nil], nodes.map { |node| node["memory"] }
    assert_equal [0, "spare 0", 1], nodes.map { |node| node["id"] }
  end

  private

  # work: nil if no process holds the slot.
  def place(id, node_memory, work)
    node = work && Struct.new(:node_memory, :work).new(node_memory, work)
    Struct.new(:id, :pid, :node).new(id, 7, node)
  end

  def left_out(slots)
    StatusReport.new(Supervisor.new(NodePool.new(slots, []))).__send__(:left_out)
  end
end
