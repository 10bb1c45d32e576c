# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Made-up processes, looked at as the supervisor does.
class LeakDetectorTest < Skep::TestCase
  MIB = 1 << 20
  BASE = 100 * MIB
  private_constant :MIB, :BASE

  test "finds a steady leak, its rate and the time that is left" do
    found = watch(100) { |age| BASE + (age * MIB) }
    assert_in_delta MIB, found.rate, MIB / 10.0
    assert_in_delta 300.0, found.seconds, 60.0
    assert_operator found.bytes, :>, 60 * MIB
  end

  test "finds a slow one after a while" do
    leak = ->(age) { BASE + (age * MIB / 60) }
    assert_nil watch(120, &leak)
    assert_in_delta MIB / 60.0, watch(1_800, &leak).rate, MIB / 600.0
    assert_in_delta MIB / 3600.0, watch(86_400) { |age| BASE + (age * MIB / 3600) }.rate, 30
  end

  test "finds a fast one when half of the room is gone" do
    assert_nil watch(15) { |age| BASE + (age * 10 * MIB) }
    assert_in_delta 12.0, watch(28) { |age| BASE + (age * 10 * MIB) }.seconds, 4.0
  end

  test "finds one under a heap that is collected now and then" do
    assert watch(600) { |age| BASE + (age * MIB) + (age % 7 * 3 * MIB) }
  end

  test "finds one that begins late" do
    late = ->(age) { BASE + ([age - 3_600, 0].max * MIB) }
    assert_nil watch(3_600, &late)
    assert_operator verdicts(4_000, 500 * MIB, &late).compact.first.seconds, :>, 120
  end

  test "says nothing of a heap that is collected now and then" do
    assert_never { |age| BASE + (age % 7 * 5 * MIB) }
    assert_never { |age| BASE + (age % 53 * MIB) }
    assert_never { |age| BASE + ((age * 7919) % 23 * MIB) }
  end

  test "says nothing of caches that fill" do
    assert_never { |age| BASE + (200 * MIB * (1 - Math.exp(-age / 20.0))).to_i }
    assert_never { |age| BASE + (30 * MIB * Math.log(1 + age)).to_i }
    assert_never { |age| BASE + ([age, 15].min * 10 * MIB) }
  end

  test "says nothing of one large job" do
    assert_never { |age| BASE + (age.between?(100, 130) ? 300 * MIB : 0) }
    assert_never { |age| BASE + (age > 100 ? 300 * MIB : 0) }
  end

  test "says nothing of a process that keeps still, or grows by next to nothing" do
    assert_never { BASE }
    assert_never { |age| BASE + (age * 1024) }
  end

  test "has no time left where the limit is passed, and none to tell without a limit" do
    assert_in_delta 0.0, watch(60, limit: BASE) { |age| BASE + (age * MIB) }.seconds
    assert_nil watch(100, limit: nil) { |age| BASE + (age * MIB) }.seconds
  end

  private

  # Looks at a process until it has that age; the last verdict.
  def watch(seconds, limit: 500 * MIB, &bytes) = verdicts(seconds, limit, &bytes).last

  def assert_never(seconds = 3_000, &bytes)
    assert_empty verdicts(seconds, 500 * MIB, &bytes).compact
  end

  def verdicts(seconds, limit)
    growth = Skep::Swarm::Memory::Growth.new(0.0)
    leak = Skep::Swarm::Memory::LeakDetector.new(limit:)
    looks(seconds).map do |age|
      growth.add(yield(age).to_i, age)
      leak.verdict(growth, yield(age).to_i, age)
    end
  end

  def looks(seconds)
    ages = [0.0]
    ages << (ages.last + [1.0, ages.last / 10, 10.0].sort[1]) while ages.last < seconds
    ages
  end
end
