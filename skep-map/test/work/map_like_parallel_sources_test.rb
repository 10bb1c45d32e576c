# frozen_string_literal: true

require "test_helper"
require "set"
require "skep/work"
require_relative "support/meeting"

# What can be mapped, as with the gem parallel: anything that can be enumerated, a lambda that
# returns the next item, a queue.
class MapLikeParallelSourcesTest < Skep::TestCase
  include Meeting

  Pair = Struct.new(:left, :right)

  # Has only each.
  class Countdown
    include Enumerable

    def each
      3.downto(1) { |number| yield number }
    end
  end

  ENUMERABLES = { "a range" => 1..3, "a set" => Set[1, 2, 3], "a struct" => Pair.new(1, 2),
                  "an object with each" => Countdown.new, "an enumerator" => [1, 2, 3].each,
                  "a lazy enumerator" => (1..).lazy.map { |number| number * 2 }.first(3).lazy,
                  "slices" => (1..5).each_slice(2), "an external iteration" => 3.times }.freeze

  ENUMERABLES.each do |name, items|
    test "maps #{name}" do
      assert_equal items.map { |item| [item] }.to_a, Skep.map(items, nodes: 2) { |item| [item] }
    end
  end

  test "yields a Hash's pairs to a block with two parameters" do
    results = Skep.map({ a: 1, b: 2 }, nodes: 2) { |key, value| "#{key}#{value}" }
    assert_equal %w[a1 b2], results
  end

  test "accepts a method or a lambda as the block" do
    assert_equal %w[1 2], Skep.map([1, 2], nodes: 2, &:to_s)
    assert_equal [1, 2], Skep.map(%w[1 2], nodes: 2, &method(:Integer))
    assert_equal [[1], [2]], Skep.map([1, 2], nodes: 2, &->(item) { [item] })
  end

  test "calls a lambda until it returns Stop, and never again" do
    items = [3, 2, 1]
    asked = 0
    produce = lambda do
      asked += 1
      items.pop || Skep::Stop
    end
    assert_equal %w[ITEM-1 ITEM-2 ITEM-3], Skep.map(produce, nodes: 2) { |item| "ITEM-#{item}" }
    assert_equal 4, asked
  end

  test "pops a Queue until it returns Stop" do
    queue = Queue.new
    filler = Thread.new { [1, 2, 3, Skep::Stop].each { |item| queue << item } }
    assert_equal [2, 4, 6], within { Skep.map(queue, nodes: 2) { |item| item * 2 } }
    filler.join
  end

  test "takes from an endless source no more than it needs" do
    taken = 0
    endless = Enumerator.new { |items| loop { items << (taken += 1) } }
    within { Skep.each(endless, nodes: 2) { |item| raise Skep::Stop if item == 100 } }
    assert_operator taken, :<, 1_000_000
  end

  test "processes a Queue's items as they arrive" do
    IO.pipe do |reader, writer|
      queue = Queue.new
      filler = Thread.new do
        3.times { |number| queue << number && wait_readable(reader).read(1) }
        queue.close
      end
      results = within do
        Skep.map(queue, nodes: 2) { |item| writer.syswrite("!") && item } # or no next comes
      end
      assert_equal [0, 1, 2], results
      filler.join
    end
  end

  test "calls a lambda for an item once the previous one is sent" do
    IO.pipe do |reader, writer|
      asked = -1
      produce = lambda do
        wait_readable(reader).read(1) if asked >= 0 # written for the previous item
        (asked += 1) < 3 ? asked : Skep::Stop
      end
      results = within { Skep.map(produce, nodes: 2) { |item| writer.syswrite("!") && item } }
      assert_equal [0, 1, 2], results
    end
  end

  test "runs the ensure blocks of a source that it stops" do
    IO.pipe do |reader, writer|
      endless = Enumerator.new do |items|
        (1..).each { |number| items << number }
      ensure
        writer.syswrite("cleaned up")
      end
      within { Skep.each(endless, nodes: 2) { |item| raise Skep::Stop if item == 10 } }
      assert_equal "cleaned up", wait_readable(reader).readpartial(100)
    end
  end

  test "raises the source's exception, and leaves nothing behind" do
    source = Enumerator.new do |items|
      3.times { |number| items << number }
      raise IOError, "the source is broken"
    end
    error = assert_raises(IOError) { within { Skep.map(source, nodes: 2, &:itself) } }
    assert_equal "the source is broken", error.message
    assert_empty own_children
  end

  test "names the item that can't be sent" do
    source = Enumerator.new { |items| items << 1 << -> { 2 } << 3 }
    error = assert_raises(StandardError) { within { Skep.map(source, nodes: 2, &:itself) } }
    assert_match(/Proc/, error.message)
    assert_empty own_children
  end
end
