# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class StatusReportTest < Skep::TestCase
  StatusReport = Skep::Swarm::Supervisor::StatusReport
  Slot = Struct.new(:work_bytes)
  NodePool = Struct.new(:slots, :spare_slots)
  Supervisor = Struct.new(:node_pool)
  private_constant :Slot, :NodePool, :Supervisor

  test "leaves out the largest facts if all of them together are too large" do
    mebibytes = [1, 4, 0, 4, 3, 2].map { |size| Slot.new(size << 20) }
    assert_equal [4], left_out(mebibytes).map { |slot| slot.work_bytes >> 20 }
    assert_empty left_out(Array.new(1_000) { Slot.new(10_000) })
  end

  test "the short report keeps only `done` of a node's work, and no last_hang" do
    work = { "done" => 3, "a" => 1 }
    plain = { name: "x", nodes: [{ id: 0, last_hang: { threads: [] }, work: }] }
    assert_equal({ name: "x", nodes: [{ id: 0, last_hang: nil, work: { "done" => 3 } }] },
                 StatusReport.short(plain))
  end

  private

  def left_out(slots)
    StatusReport.new(Supervisor.new(NodePool.new(slots, []))).__send__(:left_out)
  end
end
