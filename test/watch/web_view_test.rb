# frozen_string_literal: true

require "test_helper"
require "skep/web"

# What the page is told, made of what a status tells: nodes may say what they like.
class WebViewTest < Skep::TestCase
  Web = Skep::Watch::Web
  View, Patch, Series, Pace, News =
    %i[View Patch Series Pace News].map { |name| Web.const_get(name) }

  test "sums up memory, with what is shared once, and nodes that are ready" do
    sums = view(node(0, memory: { uss: 10, pss: 15 }), node(1, memory: { uss: 20, pss: 25 }),
                node("spare 0", state: "spare", memory: nil)).to_h["sums"]
    assert_equal [30, 10, 2, 2, 1], sums.values_at("own", "shared", "ready", "nodes", "spares")
  end

  test "counts a partition as all that have had it tell, and shows it where it is held" do
    nodes = [node(0, work: kafka(partition(messages: 5, held: false, lag: nil))),
             node(1, work: kafka(partition(messages: 7, held: true, lag: 3)))]
    partitions = view(*nodes).to_h["partitions"]
    assert_equal ["g/orders/4"], partitions.keys
    assert_equal ["1", 3, 12], partitions["g/orders/4"].values_at("node", "lag", "messages")
    assert_equal 3, view(*nodes).numbers["lag/g/orders/4"]
  end

  test "takes whatever a node tells of itself" do
    odd = [nil, 1, "x", [], {}, [[]], { "a" => [nil] }, 1e300, Float::INFINITY]
    odd.each do |value|
      work = kafka(value, { "topic" => value, "partition" => value, "held" => true, "lag" => value,
                            "rate" => value, "handler" => value, "messages" => value })
      named = { "rate" => value, "lag" => value, "group" => value, value.to_s => 1 }
      seen = view(node(0, work: { **work, **named }),
                  node(1, work: { "kind" => "kafka", "partitions" => value, "done" => value }))
      assert_equal 2, JSON.parse(JSON.generate([seen.to_h, seen.numbers])).size
    end
  end

  test "shortens what is long" do
    facts = (1..50).to_h { |number| ["fact#{number}", "x" * 10_000] }
    told = view(node(0, work: facts)).to_h.dig("nodes", "0", "facts")
    assert_equal [20, 201], [told.size, told["fact1"].size]
  end

  test "tells the rate of work that counts only" do
    pace = Pace.new
    rates = [[0.0, 0], [2.0, 10], [4.0, 30], [30.0, 30], [31.0, 5], [33.0, 9]].map do |now, done|
      pace.of("0", done, now)
    end
    assert_equal [nil, 5.0, 7.5, 0.0, nil, 2.0], rates
  end

  test "tells what part of a processor a process takes, once it was seen twice" do
    processor = Web.const_get(:Processor).new
    pids = { "0" => Process.pid, "1" => nil, "2" => "x" }
    assert_empty processor.of(pids, 1.0)
    began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < began + 0.05
    assert_operator processor.of(pids, 2.0).fetch("0"), :>=, 0.03
    assert_empty processor.of({ "0" => Process.ppid }, 3.0)
  end

  test "makes of two hashes what leads from the one to the other" do
    before = { "a" => 1, "b" => { "c" => 1, "d" => 2 }, "e" => [1], "f" => {} }
    after = { "b" => { "c" => 1, "d" => 3 }, "e" => [2], "f" => {}, "g" => { "h" => 1 } }
    patch = { "a" => nil, "b" => { "d" => 3 }, "e" => [2], "g" => { "h" => 1 } }
    assert_equal patch, Patch.between(before, after)
    assert_empty Patch.between(after, after)
  end

  test "keeps a quarter of an hour, a point for each step" do
    series = Series.new
    assert_nil series.add({ "a" => 1 }, 0.0)
    assert_nil series.add({ "a" => 2 }, 2.9)
    assert_equal({ at: 0, numbers: { "a" => 2 } }, series.add({ "a" => 3, "b" => nil }, 3.0))
    assert_equal [2], series.to_h(5.0)[:lines]["a"].compact
    (2..400).each { |step| series.add({ "c" => step }, step * 3.0) }
    lines = series.to_h(1200.0)[:lines]
    assert_equal [["c"], 300], [lines.keys, lines["c"].compact.size]
  end

  test "keeps the last events, and backtraces apart" do
    news = News.new
    150.times { |seq| news.add({ "seq" => seq, "event" => "x", "note" => "y" * 999 }) }
    last = news.to_a.last
    assert_equal [100, 149, 401], [news.to_a.size, last["seq"], last["text"].size]
    line = news.add({ "event" => "node_backtraces", "node" => 0,
                      "threads" => [{ "name" => "main" }] })
    assert_empty line["text"]
    assert_equal [{ "name" => "main" }], news.backtraces("0")["threads"]
  end

  private

  def view(*nodes) = View.new({ "name" => "hive", "nodes" => nodes }, Pace.new, 1.0)

  def node(id, state: "ready", memory: { uss: 1, pss: 1 }, work: {})
    { "id" => id, "state" => state, "memory" => memory&.transform_keys(&:to_s),
      "work" => { "done" => 0, **work } }
  end

  def kafka(*partitions) = { "kind" => "kafka", "group" => "g", "partitions" => partitions }

  def partition(**facts)
    { "topic" => "orders", "partition" => 4, "rate" => 1.0, **facts.transform_keys(&:to_s) }
  end
end
