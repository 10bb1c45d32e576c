# frozen_string_literal: true

require "test_helper"
require "etc"
require "set"
require "skep/work"
require_relative "support/meeting"

# What users of the gem parallel rely on, as its own spec checks it for processes: nodes, order and
# results. Failures, hooks and sources have files of their own.
class MapLikeParallelTest < Skep::TestCase
  include Meeting

  NotDumpable = Struct.new(:name) do
    def marshal_dump = raise("#{name} can't be dumped")
  end

  test "runs in one process for each available processor" do
    count = Skep::OS::Cgroup.processors
    [{}, { nodes: nil }, { in_processes: nil }].each do |options|
      pids = meeting(count) { |meet| Skep.each(1..count, **options) { meet.call(Process.pid) } }
      assert_equal count, pids.uniq.size
      refute_includes pids, Process.pid.to_s
    end
  end

  test "runs in the given number of processes" do
    [{ nodes: 5 }, { in_processes: 5 }].each do |options|
      pids = meeting(5) { |meet| Skep.each(1..5, **options) { meet.call(Process.pid) } }
      assert_equal 5, pids.uniq.size
    end
  end

  test "has no more processes than items" do
    children = "/proc/#{Process.pid}/task/#{Process.pid}/children"
    counts = Skep.map(1..2, nodes: 20) { File.read(children).split.size }
    assert_operator counts.max, :<=, 2
  end

  test "rejects nodes with in_threads, and unknown options" do
    assert_raises(ArgumentError) { Skep.map([1, 2, 3], in_processes: 2, in_threads: 3) { 1 } }
    assert_raises(ArgumentError) { Skep.map([1, 2, 3], nodes: -1) { 1 } }
    error = assert_raises(ArgumentError) { Skep.map([1, 2, 3], in_proceses: 2) { 1 } }
    assert_match(/in_proceses/, error.message)
  end

  test "doesn't change the caller's options" do
    assert_equal [2], Skep.map([1], **{ nodes: 1 }.freeze) { |item| item + 1 }
  end

  test "doesn't affect variables outside the block" do
    value = "yes"
    Skep.each(1..2, nodes: 2) { value = "no" }
    assert_equal "yes", value
  end

  test "returns results in the items' order, not in the order of completion" do
    IO.pipe do |reader, writer|
      results = within do
        Skep.map(%w[first second], nodes: 2) do |item|
          item == "first" ? reader.read(1) : writer.syswrite("!")
          "-#{item}-"
        end
      end
      assert_equal %w[-first- -second-], results
    end
  end

  test "gives items to an idle node, not to a busy one" do
    IO.pipe do |reader, writer|
      pids = within do
        Skep.map(0..3, nodes: 2) do |item|
          item.zero? ? reader.read(3) : writer.syswrite("!")
          Process.pid
        end
      end
      assert_equal [1, 3], pids.tally.values.sort
    end
  end

  test "equals Array#map for many items" do
    items = Array.new(10_000) { |number| number }
    assert_equal items.map { |item| item + 1 }, Skep.map(items, nodes: 4) { |item| item + 1 }
  end

  test "passes nested objects" do
    ring = [1].tap { |array| array << array }
    object = ["\n#{"text\xff\0" * 50_000}", 12_345, 2**100, -0.0, nil, { b: :a, [1] => ring }, 1..3,
              Set[1], Time.at(0, 5), "ü".encode("UTF-16LE"), Object, Rational(1, 3)]
    results = Skep.map(1..2, nodes: 2) { object }
    assert_equal object[0..4].inspect, results.first[0..4].inspect
    assert_equal object[6..], results.last[6..]
    assert_same results.first[5][[1]], results.first[5][[1]].last
    assert_equal object.first.encoding, results.first.first.encoding
  end

  test "passes 100 MB of results" do
    sizes = Skep.map(1..20, nodes: 2) { |item| item.chr * 5_000_000 }.map(&:size)
    assert_equal [5_000_000] * 20, sizes
  end

  test "keeps nil, false and nested Arrays" do
    results = Skep.map([1, nil, false, [3]], nodes: 2) { |item| [item, [item]] if item != 1 }
    assert_equal [nil, [nil, [nil]], [false, [false]], [[3], [[3]]]], results
  end

  test "returns an empty Array for no items" do
    assert_equal [[], [], []], [Skep.map([]) { 1 }, Skep.each([]) { 1 }, Skep.flat_map([]) { [1] }]
  end

  test "forks and marshals nothing with 0 nodes" do
    [{ nodes: 0 }, { in_processes: 0 }, { in_threads: 0 }].each do |options|
      item = NotDumpable.new("item")
      results = Skep.map([item, 2], **options) { |each| [each, Process.pid, -> { each }] }
      assert_equal [Process.pid], results.map { |result| result[1] }.uniq
      assert_same item, results.first.last.call
    end
  end

  test "runs in threads of this process" do
    results = meeting(3) do |meet|
      Skep.each(1..3, in_threads: 3) { meet.call("#{Process.pid} #{Thread.current.object_id}") }
    end
    assert_equal [Process.pid.to_s], results.map { |result| result[/\d+/] }.uniq
    assert_equal 3, results.uniq.size
  end

  test "changes items in place in threads only" do
    items = [+"a"]
    Skep.each(items, in_threads: 1) { |item| item << "b" }
    Skep.each(items, nodes: 1) { |item| item << "c" }
    assert_equal ["ab"], items
  end

  test "each processes each item, and returns the collection" do
    range = 1..4
    items = collecting { |report| assert_same(range, Skep.each(range, nodes: 2, &report)) }
    assert_equal %w[1 2 3 4], items.sort
  end

  test "each marshals no result, and no item of an Array" do
    items = [NotDumpable.new("an item")]
    assert_same items, Skep.each(items, nodes: 1) { NotDumpable.new("a result") }
    assert_equal ["an item"], Skep.map(items, nodes: 1, &:name)
  end

  test "yields the index with the item" do
    assert_equal %w[a0 b1], Skep.map(%w[a b], nodes: 2, with_index: true) { |it, at| "#{it}#{at}" }
    reports = collecting do |report|
      Skep.each_with_index(%w[a b], nodes: 2) { |item, index| report.call("#{item}#{index}") }
    end
    assert_equal %w[a0 b1], reports.sort
  end

  test "flattens once, and filters as Ruby does" do
    flat = Skep.flat_map(%w[a b], nodes: 2) { |item| [item, [item]] }
    assert_equal ["a", ["a"], "b", ["b"]], flat
    assert_equal %w[a c], Skep.filter_map(%w[a b c], nodes: 2) { |item| item if item != "b" }
    assert_equal [2], Skep.filter_map([nil, false, 2], nodes: 2, &:itself)
  end
end
