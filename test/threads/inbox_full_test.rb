# frozen_string_literal: true

require "test_helper"
require "skep/threads"

class InboxFullTest < Skep::TestCase
  Inbox = Skep::Threads::Inbox
  private_constant :Inbox

  test "holds any number of items without a limit" do
    inbox = Inbox.new
    assert_nil inbox.limit
    1_000.times { |number| inbox.push(number) }
    refute inbox.full?
    assert_equal 2, Inbox.new(limit: 2).limit
  end

  test "push waits for room" do
    inbox = Inbox.new(limit: 1).push(1)
    pusher = Thread.new { inbox.push(2) }
    assert_equal [1, 2], [inbox.pop, inbox.pop(timeout: 10)]
    assert_same inbox, pusher.value
  end

  test "push raises Full at its deadline, or at once with full: :raise" do
    [[{}, { timeout: 0.01 }], [{}, { timeout: 0 }], [{ full: :raise }, {}]].each do |terms, options|
      inbox = Inbox.new(limit: 1, **terms).push(1)
      error = assert_raises(Inbox::Full) { inbox.push(2, **options) }
      assert_match(/\Athe inbox is full, at 1: push later/, error.message)
      assert_equal 1, inbox.size
    end
  end

  test "full: :drop_oldest drops the oldest item, and counts it" do
    inbox = Inbox.new(limit: 2, full: :drop_oldest)
    5.times { |number| inbox.push(number) }
    assert_equal [3, [3, 4]], [inbox.dropped, [inbox.pop, inbox.pop]]
  end

  test "drops no item once it is closed" do
    inbox = Inbox.new(limit: 1, full: :drop_oldest).push(1)
    inbox.close
    assert_raises(Inbox::Closed) { inbox.push(2) }
    assert_equal [0, 1], [inbox.dropped, inbox.pop]
  end

  test "close makes pushes that wait for room raise Closed" do
    inbox = Inbox.new(limit: 1).push(1)
    pushers = Array.new(3) { Thread.new { assert_raises(Inbox::Closed) { inbox.push(2) } } }
    inbox.close
    pushers.each(&:join)
    assert_equal 1, inbox.size
  end

  test "never holds more than its limit, however many threads push and pop" do
    inbox = Inbox.new(limit: 3)
    pushers = Array.new(4) { |n| Thread.new { 500.times { |item| inbox.push([n, item]) } } }
    taken = Thread::Queue.new
    takers = Array.new(4) { Thread.new { inbox.each { |item| taken << [inbox.size, item] } } }
    pushers.each(&:join)
    inbox.close
    takers.each(&:join)
    sizes, items = Array.new(taken.size) { taken.pop }.transpose
    assert_operator sizes.max, :<=, 3
    assert_equal((0..3).flat_map { |n| (0...500).map { |item| [n, item] } }, items.sort)
  end

  test "another push gets the room for a push whose thread was killed" do
    inbox = Inbox.new(limit: 1).push(0)
    first, second = waiting { inbox.push(1) }, waiting { inbox.push(2) }
    inbox.pop
    first.kill.join
    assert_equal 1, inbox.pop if first.value # it ended before the kill
    assert second.join(10)
    assert_equal 2, inbox.pop(timeout: 10)
  end

  test "another pop gets the item for a pop whose thread was killed" do
    inbox = Inbox.new
    first, second = waiting { inbox.pop }, waiting { inbox.pop }
    inbox.push(:item)
    first.kill.join
    inbox.push(:item) if first.value # it ended before the kill
    assert_equal :item, second.value
  end

  private

  # Starts a thread that waits in the block.
  def waiting(&block)
    Thread.new(&block).tap { |thread| thread.join(0.02) }
  end
end
