# frozen_string_literal: true

require "test_helper"
require "skep/web"

# What a page shows of a status. Nodes may report anything in it.
class WebSwarmPresenterTest < Skep::TestCase
  Sample = Skep::Control::ProcessSampler::Sample

  test "memory and ready nodes are summed up, shared memory is counted once" do
    sums = present(node(0, memory: { uss: 10, pss: 15 }), node(1, memory: { uss: 20, pss: 25 }),
                   node("spare 0", state: "spare", memory: nil)).to_h["sums"]
    assert_equal [30, 10, 2, 2, 1], sums.values_at("own", "shared", "ready", "nodes", "spares")
  end

  test "partitions and lag are those of the groups, with what the lag leaves out" do
    nodes = [node(0, work: kafka(partition("lag" => 3), "lag" => 3)),
             node(1, state: "dead", work: kafka(partition("partition" => 5), "lag" => 9))]
    shown = present(*nodes).to_h
    assert_equal [3, "unknown of 1 partition"], shown["sums"].values_at("lag", "lag_unknown")
    assert_equal ["g", "orders", 4, "0", 3, 1],
                 shown["partitions"]["g/orders/4"].values_at("group", "topic", "partition", "node",
                                                             "lag", "messages")
    refute shown["partitions"]["g/orders/5"].key?("lag")
    assert_equal 3, present(*nodes).numbers["lag/g/orders/4"]
    refute present(nodes.first).to_h["sums"].key?("lag_unknown")
  end

  test "the totals of a group are those of all its works" do
    works = [2, 3].map do |count|
      { "kind" => "kafka", "group" => "g", "totals" => { "messages" => count } }
    end
    totals = present(node(0, work: kafka), works:).to_h["totals"]["g"]
    assert_equal [5, 0], totals.values_at("messages", "retries")
  end

  test "each row of a partition is checked once" do
    checked = 0
    trace = TracePoint.new(:call) { |call| checked += 1 if call.method_id == :row? }
    node = node(0, work: kafka(partition({})))
    trace.enable(target_thread: Thread.current) { present(node).to_h }
    assert_equal 1, checked
  end

  test "a partition says what fails in it" do
    facts = { "messages" => 1, "since" => Skep::OS.now + 60, "offset" => 41, "attempt" => 3 }
    failing = partition("failing" => { "cause" => "dependency", **facts })
    nodes = [node(0, work: kafka(failing, partition("partition" => 5)))]
    bad, good = present(*nodes).to_h["partitions"].values_at("g/orders/4", "g/orders/5")
    assert_equal({ "words" => "dependency unavailable", "level" => "critical",
                   **facts.except("messages") }, bad["failing"])
    refute good.key?("failing")
  end

  test "what fails is the same in two statuses, so that only new facts are sent" do
    since = Skep::OS.now - 60
    facts = { "cause" => "message", "messages" => 1, "since" => since, "offset" => 41,
              "attempt" => 3, "at" => "app.rb:12", "error" => "IOError: #{"x" * 500}" }
    row = partition("failing" => facts, "stalling_since" => since)
    first, second = Array.new(2) { present(node(0, work: kafka(row))).to_h["partitions"] }
    assert_equal first, second
    shown = first["g/orders/4"]
    assert_equal ["app.rb:12", 200, since], [shown["failing"]["at"],
                                             shown["failing"]["error"].size, shown["stalled_since"]]
  end

  test "a node has the kind of its most urgent problem" do
    problem = { "subject" => "node 0", "text" => "x", "since" => 1.0, "node" => 0, "doing" => "x",
                "advice" => "x" }
    problems = [%w[over_memory warning], %w[rollout info]].map do |kind, level|
      { **problem, "kind" => kind, "level" => level }
    end
    quiet = { **problem, "kind" => "quiet", "level" => "info", "node" => 1 }
    nodes = present(node(0), node(1), problems: [*problems, quiet]).to_h["nodes"]
    assert_equal({ "kind" => "over_memory", "level" => "warning" }, nodes["0"]["problem"])
    refute nodes["1"].key?("problem")
  end

  test "facts keep their structure" do
    shown = present(node(0, work: { "a" => { "b" => [1, { "c" => "d" }] } })).to_h
    assert_equal({ "b" => [1, { "c" => "d" }] }, shown.dig("nodes", "0", "facts", "a"))
  end

  test "the first problems are shown, long texts shortened, with their number" do
    problem = { "kind" => "hung", "level" => "critical", "subject" => "node 3", "text" => "x" * 999,
                "since" => 3.0, "node" => 3, "work" => nil, "at" => nil, "doing" => "skep waits",
                "advice" => "wait" }
    shown = present(node(0), problems: [problem] * 30).to_h
    assert_equal [20, 30], [shown["problems"].size, shown["problem_count"]]
    first = shown["problems"].first
    assert_equal [201, 3.0, false], [first["text"].size, first["since"], first.key?("at")]
    assert_empty present(node(0)).to_h["problems"]
  end

  test "whatever a node reports, the result is JSON" do
    odd = [nil, 1, "x", [], {}, [[]], { "a" => [nil] }, 1e300, Float::INFINITY]
    odd.each do |value|
      work = kafka(value, partition("topic" => value, "partition" => value, "lag" => value,
                                    "rate" => value, "handler" => value, "messages" => value,
                                    "failing" => value))
      named = { "rate" => value, "lag" => value, "group" => value, value.to_s => 1 }
      seen = present(node(0, work: { **work, **named }),
                     node(1, work: { "kind" => "kafka", "partitions" => value, "done" => value }))
      assert_equal 2, JSON.parse(JSON.generate([seen.to_h, seen.numbers])).size
    end
  end

  test "long facts are shortened, and only the first are kept" do
    facts = (1..50).to_h { |number| ["fact#{number}", "x" * 10_000] }
    shown = present(node(0, work: facts)).to_h.dig("nodes", "0", "facts")
    assert_equal [20, 201], [shown.size, shown["fact1"].size]
  end

  test "a hang has the first line of its thread's backtrace, if that is known" do
    known = { "pid" => 3, "seconds_ago" => 1.5, "reason" => "hung", "state" => "running" }
    thread = { "name" => "skep.kafka.worker.1", "backtrace" => ["app.rb:7:in `match?'", "b.rb:1"] }
    { [thread, { "backtrace" => ["other.rb:1"] }] => "app.rb:7:in `match?'", [] => nil, nil => nil,
      [{ **thread, "backtrace" => nil }] => nil, 5 => nil }.each do |threads, line|
      facts = present({ **node(0), "last_hang" => { **known, "threads" => threads } }).to_h
      assert_equal({ **known.except("state"), "line" => line }.compact,
                   facts.dig("nodes", "0", "hang"))
    end
    refute present(node(0)).to_h.dig("nodes", "0").key?("hang")
  end

  test "rates and processor time are those of the sample" do
    sample = Sample.new({ 0 => 0.25049 }, { 0 => 12.34, "spare 0" => 1.0 })
    shown = present(node(0), node("spare 0"), sample:).to_h
    assert_equal [0.25, 12.3, 12.3],
                 [*shown.dig("nodes", "0").values_at("cpu", "rate"), shown.dig("sums", "rate")]
  end

  test "works are named where there are several" do
    works = %w[web orders].map { |name| { "name" => name, "nodes" => 2 } }
    shown = present({ **node(0), "work_name" => "web" }, works:).to_h
    assert_equal [{ "web" => 2, "orders" => 2 }, "web"],
                 [shown["works"], shown.dig("nodes", "0", "work_name")]
    refute present(node(0), works: works.first(1)).to_h.key?("works")
  end

  private

  def present(*nodes, sample: nil, works: [], problems: nil)
    status = { "name" => "hive", "nodes" => nodes, "works" => works, "problems" => problems }
    sample ||= Skep::Control::ProcessSampler.new.sample(status, 1.0, pids: false)
    Skep::Web::Live::SwarmPresenter.new(status, sample)
  end

  def node(id, state: "ready", memory: { uss: 1, pss: 1 }, work: {})
    { "id" => id, "state" => state, "memory" => memory&.transform_keys(&:to_s),
      "work" => { "done" => 0, **work } }
  end

  def kafka(*partitions, **facts)
    { "kind" => "kafka", "group" => "g", "lag" => 0, "lag_unknown" => 0, "rate" => 1.0,
      "partitions" => partitions, **facts }
  end

  def partition(facts)
    { "topic" => "orders", "partition" => 4, "position" => 1, "rate" => 1.0, "messages" => 1,
      "retries" => 0, "dead_letters" => 0, "skipped" => 0, "rebalances" => 1, "held" => true,
      **facts }
  end
end
