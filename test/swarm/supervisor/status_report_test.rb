# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class StatusReportTest < Skep::TestCase
  StatusReport = Skep::Swarm::Supervisor::StatusReport
  Slot = Struct.new(:work_bytes)
  NodePool = Struct.new(:slots, :spare_slots)
  Supervisor = Struct.new(:node_pool)
  private_constant :Slot, :NodePool, :Supervisor

  test "leaves out the largest facts where there is no room for all of them" do
    mebibytes = [1, 4, 0, 4, 3, 2].map { |size| Slot.new(size << 20) }
    assert_equal [4], left_out(mebibytes).map { |slot| slot.work_bytes >> 20 }
    assert_empty left_out(Array.new(1_000) { Slot.new(10_000) })
  end

  test "is short without facts and without what was found out about hangs" do
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
