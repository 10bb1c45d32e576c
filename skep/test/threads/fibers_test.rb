# frozen_string_literal: true

require "test_helper"
require "support/fiber_loop"
require "skep/threads"

# With a Fiber scheduler a fiber that waits doesn't block the other fibers of its thread.
class ThreadsFibersTest < Skep::TestCase
  Threads = Skep::Threads
  private_constant :Threads

  def setup
    super
    @inbox = Threads::Inbox.new
    @events = []
  end

  test "fibers exchange items" do
    back = Threads::Inbox.new
    assert_equal [2, 1], FiberLoop.run(-> { back.push(1) && @inbox.pop },
                                       -> { @inbox.push(2) && back.pop })
  end

  test "a fiber waits for an item while others work" do
    assert_equal [:item, @inbox], FiberLoop.run(-> { record(:waits) && @inbox.pop },
                                                -> { record(:works) && @inbox.push(:item) })
    assert_equal %i[waits works], @events
  end

  test "a fiber waits for an item of another thread" do
    thread = nil
    popped, = FiberLoop.run(-> { @inbox.pop }, -> { thread = Thread.new { @inbox.push(:theirs) } })
    assert_equal :theirs, popped
    thread.join
  end

  test "each fiber is woken at its own deadline" do
    other = Threads::Inbox.new
    FiberLoop.run(-> { record([:late, @inbox.pop(timeout: 30)]) },
                  -> { record([:early, other.pop(timeout: 0.02)]) && @inbox.push(:over) },
                  -> { record([:never, other.pop(timeout: 0)]) })
    assert_equal [[:early, nil], [:never, nil]], @events.first(2).sort
    assert_equal [[:late, :over]], @events.drop(2)
  end

  test "close wakes all fibers" do
    assert_equal [nil, nil], FiberLoop.run(-> { @inbox.pop }, -> { @inbox.pop },
                                           -> { @inbox.close }).first(2)
  end

  test "a fiber waits for a pool's batch while others work" do
    pool = Threads::Pool.new(2)
    results, = FiberLoop.run(-> { pool.run([1, 2]) { |n| n * (@inbox.pop(timeout: 10) || 0) } },
                             -> { 2.times { @inbox.push(10) } })
    assert_equal [10, 20], results
  ensure
    pool.close(timeout: 5)
  end

  test "fibers share a pool" do
    pool = Threads::Pool.new(3)
    works = Array.new(4) { |n| -> { pool.run(1..5) { |item| item + n } } }
    assert_equal (0..3).map { |n| (1..5).map { |item| item + n } }, FiberLoop.run(*works)
  ensure
    pool.close(timeout: 5)
  end

  test "a fiber waits for a background to close while others work" do
    worker = Threads::Background.new("patient") { |inbox| inbox.each { @inbox.pop(timeout: 10) } }
    worker.push(1)
    assert_equal [true, @inbox], FiberLoop.run(-> { worker.close(timeout: 10) },
                                               -> { @inbox.push(:go) })
  end

  private

  def record(what) = @events << what
end
