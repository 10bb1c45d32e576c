# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapSharedCountersTest < Skep::TestCase
  SharedCounters = Skep::Work::Map.const_get(:SharedCounters)
  private_constant :SharedCounters

  def setup
    super
    @counters = SharedCounters.new(2, 4)
  end

  def teardown
    @counters.close
    super
  end

  test "has two counters for each thread of a worker, each in its own word" do
    counters = @counters.of(0) + @counters.of(1)
    assert_equal (0...16).to_a, counters
    assert_equal 16, counters.map { |counter| @counters.location(counter).drop(1) }.uniq.size
  end

  test "counts the items that were started" do
    @counters.reset(9, 3)
    assert_equal 0, @counters.started(9, 3)
    assert_equal [true, true], Array.new(2) { start(9) }
    assert_equal [2, 0], [@counters.started(9, 3), @counters.started(8, 3)]
  end

  test "lets a worker start no more items than it was sent" do
    @counters.reset(0, 1)
    assert_equal [true, false, false], Array.new(3) { start(0) }
    assert_equal 1, @counters.started(0, 1)
  end

  test "withdraws the items that were not started" do
    skip "the fallback withdraws nothing" unless Skep::OS::SharedPage.native?

    @counters.reset(0, 5)
    2.times { start(0) }
    assert_equal 2, @counters.withdraw(0, 5)
    refute start(0)
    assert_equal 2, @counters.withdraw(0, 2)
  end

  test "agrees with a process that starts items while it withdraws them" do
    size = 100_000
    @counters.reset(0, size)
    pid, reader = in_child do |writer|
      started = 0
      started += 1 while start(0)
      writer.write(started)
    end
    nil while @counters.started(0, size) < 100
    kept = @counters.withdraw(0, size)
    assert_equal kept, Integer(wait_readable(reader, 30).read)
    assert_equal [kept, kept], [@counters.started(0, kept), @counters.withdraw(0, kept)]
  ensure
    Process.wait(pid)
  end

  test "keeps a worker's exit reason until another worker has its number" do
    @counters.record_exit_reason(1, "x" * 1000)
    assert_equal "x" * Skep::OS::SharedPage::BLOB, @counters.exit_reason(1)
    assert_nil @counters.exit_reason(0)
    @counters.clear(1)
    assert_nil @counters.exit_reason(1)
  end

  private

  # As ChunkRunner does.
  def start(counter)
    page, cell, word = @counters.location(counter)
    value = page.add(cell, word, 1)
    value & SharedCounters::STARTED_MASK <= value >> SharedCounters::LIMIT_SHIFT
  end
end
