# frozen_string_literal: true

require "test_helper"
require "skep/work"
require "set"
require_relative "support/gates"

# What Skep.map accepts, and what it returns.
class MapTest < Skep::TestCase
  Queue = Thread::Queue
  private_constant :Queue

  test "returns the block's results in the items' order" do
    doubled = Skep.map(0...5000, nodes: 2) { |item| item * 2 }
    assert_equal (0...5000).map { |item| item * 2 }, doubled
  end

  test "runs the block in other processes, no more of them than nodes or items" do
    pids = Skep.map((1..30).to_a, nodes: 3) { Process.pid }
    refute_includes pids, Process.pid
    assert_operator pids.uniq.size, :<=, 3
    assert_equal 1, Skep.map([1], nodes: 3) { Process.pid }.uniq.size
  end

  test "forks a node for each slow item" do
    gates = Gates.new(3)
    pids = Skep.map([0, 1, 2], nodes: 3) { |place| gates.meet(place) && Process.pid }
    assert_equal 3, pids.uniq.size
  ensure
    gates.close
  end

  test "accepts finite collections: a Range, a Hash, a Set, a Struct, nothing" do
    assert_equal [2, 3], Skep.map(1..2, nodes: 2, &:succ)
    assert_equal ["a1"], Skep.map({ a: 1 }, nodes: 2) { |key, value| "#{key}#{value}" }
    assert_equal [2], Skep.map(Set[1], nodes: 2, &:succ)
    assert_equal [2], Skep.map(Struct.new(:one).new(1), nodes: 2, &:succ)
    assert_equal [], Skep.map([], nodes: 2, &:succ)
    assert_equal [], Skep.map([].each, nodes: 2, &:succ)
  end

  test "accepts streams: enumerators, lazy ones, queues, lambdas" do
    assert_equal [2, 3], Skep.map([1, 2].each, nodes: 2, &:succ)
    assert_equal [4, 7], Skep.map((1..).lazy.map { |i| i * 3 }.first(2).each, nodes: 2, &:succ)
    assert_equal [3, 5], Skep.map([1, 2].lazy.map { |i| i * 2 }, nodes: 2, &:succ)
    queue = Queue.new([1, 2]).close
    assert_equal [2, 3], Skep.map(queue, nodes: 2, &:succ)
    items = [1, 2]
    assert_equal [2, 3], Skep.map(-> { items.shift || Skep::Stop }, nodes: 2, &:succ)
  end

  test "takes no more items of an endless enumerator than its nodes can hold" do
    taken = 0
    numbers = Enumerator.new { |items| loop { items << (taken += 1) } }
    found = Skep.map(numbers, nodes: 2) { |n| n == 5 ? raise(Skep::Stop, n) : IO.select([], [], [], 0.01) }
    assert_equal 5, found
    assert_operator taken, :<, 100
  end

  test "each returns the items" do
    items = [1, 2]
    assert_same items, Skep.each(items, nodes: 2) { proc {} }
  end

  test "with_index yields the index with the item" do
    assert_equal ["a0", "b1"], Skep.map(%w[a b], nodes: 2, with_index: true) { |i, n| "#{i}#{n}" }
    results = []
    finish = ->(_item, _index, result) { results << result }
    Skep.each_with_index(%w[a b], nodes: 2, finish:) { |item, index| "#{item}#{index}" }
    assert_equal ["a0", "b1"], results.sort
  end

  test "flat_map joins Arrays, filter_map drops nil and false" do
    assert_equal [1, 1, [2], 2], Skep.flat_map([1, [2]], nodes: 2) { |item| [item, *item] }
    assert_equal [1, 3], Skep.filter_map(1..4, nodes: 2) { |item| item.odd? && item }
  end

  test "ordered: false returns all results as they arrive" do
    assert_equal (1..1000).to_a, Skep.map(1..1000, nodes: 2, ordered: false) { |item| item }.sort
  end

  test "threads: processes that many items concurrently in each node" do
    gates = Gates.new(3)
    names = Skep.map(0..5, nodes: 1, threads: 3) do |item|
      gates.meet(item) if item < 3
      [item, Thread.current.name]
    end
    assert_equal (0..5).to_a, names.map(&:first)
    assert_equal %w[skep.map.0 skep.map.1 skep.map.2], names.map(&:last).uniq.sort
  ensure
    gates.close
  end

  test "runs in this process with nodes: 0 or in_threads" do
    assert_equal [Process.pid], Skep.map(1..3, nodes: 0) { Process.pid }.uniq
    assert_equal [Process.pid] * 3, Skep.map(1..3, in_threads: 2) { Process.pid }
    assert_equal [2, 3, 4], Skep.map(1..3, in_threads: 2, &:succ)
    assert_equal 2, Skep.map(1..3, nodes: 0) { |item| item == 2 ? raise(Skep::Stop, item) : item }
    error = assert_raises(KeyError) { Skep.map([5], in_threads: 2) { raise KeyError } }
    assert_equal 5, error.skep_item
  end

  test "accepts the option names of the gem parallel" do
    assert_equal [2], Skep.map([1], in_processes: 2, &:succ)
    assert_equal [Process.pid], Skep.map([1], in_processes: 0) { Process.pid }
  end

  test "rejects unknown and invalid options" do
    assert_raises(ArgumentError) { Skep.map([1]) }
    assert_raises(ArgumentError) { Skep.map([1], nodes: -1) { 1 } }
    assert_raises(ArgumentError) { Skep.map([1], nodes: 1, in_threads: 1) { 1 } }
    error = assert_raises(ArgumentError) { Skep.map([1], progress: ->(*) {}) { 1 } }
    assert_match(/progress must be true, a title or a Hash .* to finish:/, error.message)
    error = assert_raises(ArgumentError) { Skep.map([1], in_ractors: 1) { 1 } }
    assert_match(/in_ractors/, error.message)
    assert_match(/Integer/, assert_raises(ArgumentError) { Skep.map(1) { 1 } }.message)
  end

  test "calls start and finish in this process, with item, index and result" do
    started = []
    finished = []
    start = ->(item, index) { started << [Process.pid, item, index] }
    finish = ->(*facts) { finished << facts }
    results = Skep.map([7, 8], nodes: 2, start:, finish:, &:succ)
    assert_equal [8, 9], results
    assert_equal [[Process.pid, 7, 0], [Process.pid, 8, 1]], started.sort
    assert_equal [[7, 0, 8], [8, 1, 9]], finished.sort
  end

  test "calls finish in the items' order with finish_in_order" do
    indexes = []
    finish = ->(_item, index, _result) { indexes << index }
    Skep.each(1..500, nodes: 2, finish:, finish_in_order: true) do |item|
      IO.select([], [], [], 0.01) if item == 1
    end
    assert_equal (0...500).to_a, indexes
  end

  test "passes large results and large items" do
    big = "x" * 8_000_000
    sizes = Skep.map([1, 2, 3], nodes: 2) { |item| big + item.to_s }.map(&:bytesize)
    assert_equal [8_000_001] * 3, sizes
    back = Skep.map([big, big].each, nodes: 2) { |item| item }
    assert(back.all? { |item| item == big })
  end

  test "maps in a map" do
    sums = Skep.map([10, 20], nodes: 2) { |ten| Skep.map([1, 2], nodes: 2) { |one| ten + one } }
    assert_equal [[11, 12], [21, 22]], sums
  end

  test "maps in several threads at a time" do
    maps = Array.new(3) { |n| Thread.new { Skep.map(1..100, nodes: 2) { |item| item * n } } }
    assert_equal (0..2).map { |n| (1..100).map { |item| item * n } }, maps.map(&:value)
  end

  test "gives the items that wait behind a slow one to another node" do
    skip "the fallback's sums aren't atomic" unless Skep::OS::SharedPage.native?

    reader, writer = IO.pipe
    items = Array.new(200) { |place| place }
    done = Skep.map(items, nodes: 2) do |item|
      item == 20 ? wait_readable(reader, 5).read(1) : item
      writer.write(".") if item == 199 # which waits behind item 20, unless another node gets it
      item
    end
    assert_equal items, done
  ensure
    [reader, writer].compact.each(&:close)
  end
end
