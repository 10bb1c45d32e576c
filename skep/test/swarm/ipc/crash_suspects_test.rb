# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class CrashSuspectsTest < Skep::TestCase
  A = ["orders/0/17-42", 25].freeze
  B = ["orders/1/3-3", nil].freeze

  def setup
    @suspects = Skep::Swarm::IPC::CrashSuspects.new
  end

  test "counts crashes, and separately those with nothing else in flight" do
    record_crash([A, B])
    record_crash([A])
    record_crash([A])

    assert_equal [[*A, 3, 2], [*B, 1, 0]].sort_by(&:inspect), counts.sort_by(&:inspect)
  end

  test "treats another part of the same item as a separate suspect" do
    record_crash([A])
    record_crash([["orders/0/17-42", nil]])

    assert_equal ["orders/0/17-42", "orders/0/17-42 at 25"], @suspects.to_a.map(&:to_s).sort
  end

  test "keeps the exits of the last five nodes that had the item in flight" do
    7.times { |n| record_crash([A], how: "SIG#{n}") }

    assert_equal %w[SIG2 SIG3 SIG4 SIG5 SIG6], @suspects.to_a.first.ends
    assert_equal [7, 7], @suspects.to_a.first.to_h.values_at(:crashes, :alone)
  end

  test "clear removes suspects, and returns those that it knew" do
    record_crash([A, B])

    assert_equal [A], @suspects.clear([A]).map(&:key)
    assert_empty @suspects.clear([A])
    assert_equal [B], @suspects.to_a.map(&:key)
  end

  test "forgets what hasn't crashed a node for an hour, or ten minutes if its work clears none" do
    record_crash([A], now: 1.0)
    record_crash([B], now: 1.0, handled: false)
    assert_empty @suspects.forget_old(601.0, [])
    assert_equal [B], @suspects.forget_old(601.1, [])
    assert_empty @suspects.forget_old(3601.0, [])
    assert_equal [A], @suspects.forget_old(3601.1, [])
    assert_empty @suspects.to_a
  end

  test "forgets nothing that is in flight: its next crash counts with the others" do
    3.times { record_crash([A], now: 1.0) }
    assert_empty @suspects.forget_old(9_000.0, [A.first])
    record_crash([A], now: 9_000.0)
    assert_equal [4, 4], @suspects.to_a.first.to_h.values_at(:crashes, :alone)
  end

  test "keeps at most 256 suspects, those with the most crashes" do
    3.times { record_crash([A]) }
    record_crash([B, ["x", nil]], now: 2.0)
    300.times { |n| record_crash([["job #{n}", nil], ["other #{n}", nil]], now: 3.0 + n) }

    keys = @suspects.to_a.map(&:key)
    assert_equal 256, keys.size
    assert_includes keys, A
    refute_includes keys, B
    assert_includes keys, ["job 299", nil]
  end

  test "clear_crashes returns the slots of the crashes, each only once" do
    record_crash([A], slot: 3)
    record_crash([A], slot: 3)
    record_crash([B], slot: 0)

    assert_equal [3, 3], @suspects.clear_crashes([A], 2.0)
    assert_empty @suspects.clear_crashes([A], 2.0)
    assert_equal [0], @suspects.clear_crashes([A, B], 2.0)
    assert_equal 2, @suspects.to_a.find { |suspect| suspect.key == A }.crashes
  end

  test "clears the crashes of at most ten items an hour" do
    cleared = (0...12).map do |n|
      record_crash([["job #{n}", nil]], now: n.to_f)
      @suspects.clear_crashes([["job #{n}", nil]], n.to_f)
    end

    assert_equal [[0]] * 10 + [[]] * 2, cleared
    record_crash([A], now: 3600.5)
    assert_equal [0], @suspects.clear_crashes([A], 3600.5)
  end

  test "another process learns the same suspects from plain data" do
    record_crash([A, B])
    plain = JSON.parse(JSON.generate(@suspects.to_plain))
    learned = Skep::Swarm::IPC::CrashSuspects.new.learn(plain)

    assert_equal @suspects.to_a, learned.to_a
    refute_predicate learned, :empty?
  end

  private

  def record_crash(held, slot: 0, now: 1.0, how: "SIGSEGV", **facts)
    @suspects.record_crash(held, slot, now, how, **facts)
  end

  def counts
    @suspects.to_a.map { |suspect| [*suspect.key, suspect.crashes, suspect.alone] }
  end
end
