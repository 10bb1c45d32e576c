# frozen_string_literal: true

require "test_helper"
require "support/fiber_loop"
require "skep/threads"

# Under a Fiber scheduler who waits holds up no other fiber of the thread.
class ThreadsFibersTest < Skep::TestCase
  Threads = Skep::Threads
  private_constant :Threads

  def setup
    super
    @inbox = Threads::Inbox.new
    @said = []
  end

  test "fibers hand each other what they have" do
    back = Threads::Inbox.new
    assert_equal [2, 1], FiberLoop.run(-> { back.push(1) && @inbox.pop },
                                       -> { @inbox.push(2) && back.pop })
  end

  test "a fiber waits for an item while others work" do
    assert_equal [:item, @inbox], FiberLoop.run(-> { say(:waits) && @inbox.pop },
                                                -> { say(:works) && @inbox.push(:item) })
    assert_equal %i[waits works], @said
  end

  test "a fiber waits for an item of another thread" do
    thread = nil
    popped, = FiberLoop.run(-> { @inbox.pop }, -> { thread = Thread.new { @inbox.push(:theirs) } })
    assert_equal :theirs, popped
    thread.join
  end

  test "each fiber is woken at its own deadline" do
    other = Threads::Inbox.new
    FiberLoop.run(-> { say([:late, @inbox.pop(timeout: 30)]) },
                  -> { say([:early, other.pop(timeout: 0.02)]) && @inbox.push(:over) },
                  -> { say([:never, other.pop(timeout: 0)]) })
    assert_equal [[:early, nil], [:never, nil]], @said.first(2).sort
    assert_equal [[:late, :over]], @said.drop(2)
  end

  test "a fiber waits for room" do
    narrow = Threads::Inbox.new(limit: 1)
    _, popped = FiberLoop.run(-> { 3.times { |n| narrow.push(n) } },
                              -> { Array.new(3) { narrow.pop } })
    assert_equal [0, 1, 2], popped
  end

  test "all fibers are told of a close" do
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

  def say(what) = @said << what
end
