# frozen_string_literal: true

require "test_helper"
require "skep/threads"

class InboxTest < Skep::TestCase
  Inbox = Skep::Threads::Inbox
  private_constant :Inbox

  def setup
    super
    @inbox = Inbox.new
  end

  test "pop returns items in the order of their push" do
    @inbox.push(1).push(2)
    assert_equal 2, @inbox.size
    assert_equal [1, 2], [@inbox.pop, @inbox.pop]
    assert_predicate @inbox, :empty?
  end

  test "pop waits for an item" do
    popped = Thread.new { @inbox.pop(timeout: 10) }
    @inbox.push(:item)
    assert_equal :item, popped.value
  end

  test "accepts false as an item" do
    @inbox.push(false).push(1)
    @inbox.close
    items = []
    @inbox.each { |item| items << item }
    assert_equal [false, 1], items
  end

  test "pop returns nil at the deadline, not before" do
    assert_takes(0.05, most: 0.1) { assert_nil @inbox.pop(timeout: 0.05) }
    assert_nil @inbox.pop(timeout: 0)
    assert_nil @inbox.pop(timeout: -1)
  end

  # Items that arrive after the deadline stay in the inbox.
  test "pop returns nil at its deadline although other threads get items" do
    takers = Array.new(4) { Thread.new { @inbox.pop(timeout: 0.2) } }
    2.times { |number| @inbox.push(number) }
    taken = takers.map(&:value)
    left = Array.new(@inbox.size) { @inbox.pop }
    assert_equal [0, 1], (taken.compact + left).sort
    assert_equal 2 + left.size, taken.count(nil)
  end

  test "each item goes to one thread" do
    takers = Array.new(4) { Thread.new { [].tap { |got| @inbox.each { |item| got << item } } } }
    200.times { |number| @inbox.push(number) }
    @inbox.close
    assert_equal (0...200).to_a, takers.flat_map(&:value).sort
  end

  test "close wakes all threads that wait" do
    takers = Array.new(3) { Thread.new { @inbox.pop } }
    @inbox.close
    assert_equal [nil] * 3, takers.map(&:value)
  end

  test "another pop gets the item for a pop whose thread was killed" do
    first, second = waiting { @inbox.pop }, waiting { @inbox.pop }
    @inbox.push(:item)
    first.kill.join
    @inbox.push(:item) if first.value # it ended before the kill
    assert_equal :item, second.value
  end

  test "returns its items after close, and accepts no more" do
    @inbox.push(1)
    2.times { @inbox.close }
    assert_raises(Inbox::Closed) { @inbox.push(2) }
    assert_equal [1, nil], [@inbox.pop, @inbox.pop]
    assert_predicate @inbox, :closed?
  end

  test "push raises for nil" do
    assert_raises(ArgumentError) { @inbox.push(nil) }
  end

  test "inspect fits a line" do
    @inbox.push("x" * 1000).close
    assert_equal "#<Skep::Threads::Inbox size=1 closed>", @inbox.inspect
  end

  test "is empty in a forked child, and works there" do
    @inbox.push(:parents)
    _, reader = in_child do |writer|
      writer.puts @inbox.size
      other = Thread.new { @inbox.pop(timeout: 5) }
      writer.puts @inbox.push(:childs) && other.value
    end
    assert_equal "0\nchilds\n", wait_readable(reader).read
    assert_equal :parents, @inbox.pop
    Process.wait
  end

  test "stays closed in a forked child" do
    @inbox.close
    _, reader = in_child { |writer| writer.puts @inbox.closed? && @inbox.pop.nil? }
    assert_equal "true\n", wait_readable(reader).read
    Process.wait
  end

  # A thread that the child lacks holds both locks. It releases them when it is killed: Ruby crashes
  # later if a thread ends with two locks, of which one stays linked to the other.
  test "works in a forked child although a lost thread held its locks" do
    locks = [@inbox.instance_variable_get(:@lock), Inbox.const_get(:FORK_LOCK)]
    held = Inbox.new
    holder = Thread.new do
      locks.first.synchronize { locks.last.synchronize { held.push(true) && Thread.stop } }
    end
    held.pop(timeout: 10)
    _, reader = in_child { |writer| writer.puts @inbox.push(1).pop(timeout: 5) }
    assert_equal "1\n", wait_readable(reader).read
    Process.wait
  ensure
    holder.kill.join
  end

  test "works in a forked child while a thread of the parent waits for an item" do
    waiting = Thread.new { @inbox.pop }
    _, reader = in_child { |writer| writer.puts @inbox.push(1).pop(timeout: 5) }
    assert_equal "1\n", wait_readable(reader).read
    @inbox.push(2)
    assert_equal 2, waiting.value
    Process.wait
  end

  private

  # Starts a thread that waits in the block.
  def waiting(&block)
    Thread.new(&block).tap { |thread| thread.join(0.02) }
  end
end
