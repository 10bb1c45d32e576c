# frozen_string_literal: true

require "test_helper"
require "kafka/verdicts/dependency"
require "kafka/verdicts/connection_pool"
require "kafka/verdicts/observation"
require "kafka/verdicts/outages"
require "kafka/verdicts/plan"
require "kafka/verdicts/table"
require "json"

# What `rake verdicts` counts as right, and what it plants. (Its lives are real swarms.)
class VerdictsTest < Skep::TestCase
  test "a seed plans the same faults again, each kind as often as the others" do
    plans = Verdicts::Plan.all("all", 28, 7)
    again = Verdicts::Plan.all("all", 28, 7)
    assert_equal plans.map { |plan| [plan.options, plan.faults] },
                 again.map { |plan| [plan.options, plan.faults] }
    kinds = plans.flat_map(&:faults).map(&:kind)
    assert_equal Verdicts::KINDS.to_h { |kind| [kind, 2] }, kinds.tally.slice(*Verdicts::KINDS)
    assert_equal %w[hangs], Verdicts::Plan.all("hangs", 3, 1).flat_map(&:faults).map(&:kind).uniq
    assert_raises(ArgumentError) { Verdicts::Plan.all("hang", 3, 1) }
  end

  test "a condemned good message makes every verdict wrong" do
    Verdicts::KINDS.each do |kind|
      wrong = observation(kind, condemned: [9], bad: [])
      assert_match(/condemned 1 good: \[9\]/, wrong.why_wrong)
    end
  end

  test "bad messages must be condemned where that is possible, and only there" do
    assert_predicate observation("raises", bad: [3, 5], condemned: [5, 3]), :right?
    missing = observation("raises", bad: [3, 5], condemned: [3])
    assert_match(/not condemned: \[5\]/, missing.why_wrong)
    held = { dead_letters: false }
    assert_predicate observation("raises", options: held, bad: [3], condemned: []), :right?
    refute_predicate observation("raises", options: held, bad: [3], condemned: [3]), :right?
    refute_predicate observation("hangs", options: held, bad: [3], condemned: []), :right?
  end

  test "an ill process must be replaced, and a dependency's return be seen" do
    assert_predicate observation("lost_lock", seconds: 4.0), :right?
    refute_predicate observation("lost_lock", seconds: nil), :right?
    assert_predicate observation("lost_lock", seconds: 4.0, unfit: [7], ill: 7), :right?
    refute_predicate observation("lost_lock", seconds: 4.0, unfit: [7, 8], ill: 7), :right?
    refute_predicate observation("refuses", back_after: 0.3, unfit: [7]), :right?
    refute_predicate observation("refuses", wrong_outages: ["7 reports no end"]), :right?
    assert_predicate observation("refuses", wrong_outages: []), :right?
    assert_predicate observation("refuses", back_after: 0.3), :right?
    refute_predicate observation("refuses", back_after: nil), :right?
    refute_predicate observation("refuses", back_after: 0.3, lost: [4]), :right?
  end

  test "a campaign is good with 98% right, and without a condemned good message" do
    right = observation("refuses", back_after: 0.3)
    late = observation("refuses", back_after: nil)
    condemning = observation("refuses", back_after: 3.0, condemned: [1])
    assert_predicate table([right] * 49 + [late]), :good?
    refute_predicate table([right] * 48 + [late] * 2), :good?
    refute_predicate table([right] * 99 + [condemning]), :good?
    refute_predicate table([]), :good?
    rows = table([right, condemning]).to_s.lines
    assert_match(/\Arefuses +2 +50\.0% +1 +0 +3\.0 s +3\.0 s +50%$/, rows[1])
  end

  test "the dependency answers, refuses, and is silent until it answers again" do
    dependency = Verdicts::Dependency.start(slow: 1.0)
    pool = Verdicts::ConnectionPool.new(dependency.ports, size: 2)
    assert_equal "ok\n", pool.ask(0)
    dependency.hosts = %w[refuse answer silent answer]
    assert_raises(SystemCallError, EOFError) { pool.ask(0) }
    assert_raises(Errno::ECONNREFUSED) { pool.ask(0) }
    assert_equal "ok\n", pool.ask(1)
    silent = Thread.new { pool.ask(2) }
    assert_nil silent.join(0.2)
    dependency.hosts = %w[answer] * 4
    assert_equal "ok\n", silent.value
    assert_equal "ok\n", pool.ask(0)
  ensure
    pool&.close
    dependency&.close
  end

  test "a drained pool gives no connection" do
    pool = Verdicts::ConnectionPool.new([1], size: 2)
    pool.drain
    assert_raises(Verdicts::ConnectionPool::Exhausted) { pool.ask(0) }
  end

  test "an outage begins and ends once in each process" do
    away, back = %w[away back].map { |name| { "event" => "kafka_dependency_#{name}", "pid" => 7 } }
    moved, gone = [{ "event" => "kafka_rebalance", "pid" => 7, "change" => "revoked" },
                   { "event" => "node_died", "pid" => 7 }]
    { [away, back, away, back] => [2, 0, []], [away, away] => [2, 1, [7]], [back] => [0, 1, []],
      [away, back, back] => [1, 1, []], [away, gone] => [1, 0, []],
      [away, moved, away, back] => [2, 0, []], [away, moved, back] => [1, 0, []],
      [away, moved] => [1, 0, []] }.each do |events, (begun, wrong, open)|
      outages = Verdicts::Outages.new(events)
      assert_equal [begun, wrong, open], [outages.begun, outages.wrong.size, outages.open]
    end
  end

  private

  def observation(kind, options: { dead_letters: true }, **seen)
    fault = Verdicts::Fault.random(kind, Random.new(1))
    Verdicts::Observation.new(fault:, options:, bad: [], condemned: [], unfit: [], lost: [],
                              seconds: 1.0, back_after: 1.0, **seen)
  end

  def table(observations)
    Verdicts::Table.new(observations.map { |one| JSON.parse(JSON.generate(one.to_plain)) })
  end
end
