# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SnapshotTest < Skep::TestCase
  Snapshot = Skep::Swarm::Snapshot
  Seat = Struct.new(:work_bytes)
  Manager = Struct.new(:seats, :spares)
  Spares = Struct.new(:reserves)
  Supervisor = Struct.new(:manager)
  private_constant :Seat, :Manager, :Spares, :Supervisor

  test "leaves out the largest facts where there is no room for all of them" do
    mebibytes = [1, 4, 0, 4, 3, 2].map { |size| Seat.new(size << 20) }
    assert_equal [4], left_out(mebibytes).map { |seat| seat.work_bytes >> 20 }
    assert_empty left_out(Array.new(1_000) { Seat.new(10_000) })
  end

  test "is short without facts and without what was found out about hangs" do
    work = { "done" => 3, "a" => 1 }
    plain = { name: "x", nodes: [{ id: 0, last_hang: { threads: [] }, work: }] }
    assert_equal({ name: "x", nodes: [{ id: 0, last_hang: nil, work: { "done" => 3 } }] },
                 Snapshot.short(plain))
  end

  private

  def left_out(seats)
    Snapshot.new(Supervisor.new(Manager.new(seats, Spares.new([])))).__send__(:left_out)
  end
end
