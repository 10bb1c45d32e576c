# frozen_string_literal: true

require "test_helper"
require "skep/plugin/kafka"

# What is wrong with consumer groups, by the facts of a status.
class KafkaProblemsTest < Skep::TestCase
  Problems = Skep::Kafka::GroupStatus::Problems
  NOW = 1_000.0
  FAILING = { "cause" => "message", "messages" => 1, "since" => NOW - 12, "offset" => 41,
              "attempt" => 3, "error" => "KeyError: id", "at" => "app.rb:12",
              "retry_at" => NOW + 3.2, "held" => false, "dead_letter_topic" => nil,
              "undelivered" => false }.freeze
  # kind => level, words of the text, of `doing`, and the facts of the row.
  TABLE = {
    "partition_failing" => ["warning", "attempt 3 (bad message): KeyError: id",
                            "in 4 s; without a dead_letter_topic", FAILING],
    "partition_held" => ["critical", "offset 41 is held", "doesn't try it again",
                         { **FAILING, "held" => true, "retry_at" => nil }],
    "partition_blocked" => ["critical", "max_out_of_order", "in 4 s",
                            { **FAILING, "blocked" => true }],
    "dead_letter_not_written" => ["critical", "can't become a dead letter", "in 4 s",
                                  { **FAILING, "undelivered" => true,
                                               "dead_letter_topic" => "orders.dead" }],
    "dependency_away" => ["critical", "nothing succeeds", "nothing becomes a dead letter",
                          { **FAILING, "cause" => "dependency" }]
  }.freeze
  private_constant :Problems, :NOW, :FAILING, :TABLE

  TABLE.each do |kind, (level, text, doing, failing)|
    test "#{kind} is named with its error, its line and what follows" do
      one, = found = of(node(0, row(0), row(3, "failing" => failing)))
      assert_equal 1, found.size
      assert_equal [kind, level, "orders/3", 12.0, "app.rb:12", 0, "billing"],
                   one.values_at("kind", "level", "subject", "since", "at", "node", "work")
      assert_includes one["text"], text
      assert_includes one["doing"], doing
      refute_empty one["advice"]
    end
  end

  test "what follows a failure depends on the dead letter topic, the time and the cause" do
    { { "dead_letter_topic" => "d" } => "in 4 s; if it keeps failing while others succeed, it goes",
      { "retry_at" => NOW - 1 } => "skep tries it again; without",
      { "cause" => "process" } => "skep replaces the process" }.each do |facts, words|
      assert_includes of(node(0, row(3, "failing" => { **FAILING, **facts }))).first["doing"], words
    end
  end

  test "a part of a dependency is a warning; the partitions of an outage are one problem" do
    rows = Array.new(3) { |n| row(n, "failing" => { **FAILING, "cause" => "part_of_dependency" }) }
    one, = found = of(node(0, *rows))
    assert_equal [1, "warning", "orders, 3 partitions"],
                 [found.size, *one.values_at("level", "subject")]
  end

  test "an outage that began soon after a reload, or is an error of code, may be the code's" do
    outage = { **FAILING, "cause" => "dependency" }
    advice = lambda do |facts = {}, **status|
      one, = Problems.of({ "nodes" => [node(0, row(3, "failing" => { **outage, **facts }))],
                           **status.transform_keys(&:to_s) }, NOW)
      one.values_at("text", "advice").join(". ")
    end
    assert_match(/3 s after a reload: .*put the old back/, advice.call(reload_seconds_ago: 15.2))
    [5.0, 200.0, nil].each do |reload_seconds_ago|
      refute_match(/reload:|old back/, advice.call(reload_seconds_ago:))
    end
    assert_match(/Fix the handler/, advice.call)
    assert_match(/Bring back/, advice.call({ "error" => "IOError: refused" }))
  end

  test "an outage of several nodes marks none of them" do
    outage = { **FAILING, "cause" => "dependency" }
    found = of(*Array.new(2) { |n| node(n, row(n, "failing" => outage)) })
    assert_equal([nil], found.map { |one| one["node"] })
  end

  test "without a verdict nobody is told to fix the handler" do
    one, = of(node(0, row(3, "failing" => { **FAILING, "cause" => "unknown" })))
    assert_match(/Wait some seconds/, one["advice"])
  end

  test "up to five partitions of a topic are named each, more as one problem" do
    rows = Array.new(6) { |n| row(n, "failing" => { **FAILING, "since" => NOW - n }) }
    assert_equal 5, of(node(0, *rows.first(5))).size
    one, = found = of(node(0, *rows))
    assert_equal [1, "orders, 6 partitions", 5.0], [found.size, *one.values_at("subject", "since")]
    assert_includes one["text"], "orders/5: offset 41"
  end

  test "a stalling and a paused partition are named while that lasts" do
    stalling, paused = of(node(0, row(1, "stalling_since" => NOW - 31, "lag" => 8),
                               row(2, "paused_until" => NOW + 39.5)))
    assert_equal ["partition_stalled", "warning", 31.0],
                 stalling.values_at("kind", "level", "since")
    assert_includes stalling["text"], "8 messages"
    assert_equal ["partition_paused", "info", nil], paused.values_at("kind", "level", "since")
    assert_includes paused["text"], "40 s"
    assert_empty of(node(0, row(2, "paused_until" => NOW - 0.1)))
  end

  test "a broker that doesn't answer is one problem of a group" do
    outage = { "since" => NOW - 4, "error" => "connection refused" }
    one, = found = of(node(0, row(0), "outage" => outage), node(1, row(1), "outage" => outage),
                      node(2, row(2)))
    assert_equal [1, "broker_unreachable", "critical", "group billing", 4.0, nil],
                 [found.size, *one.values_at("kind", "level", "subject", "since", "node")]
    assert_equal "no broker answers 2 of 3 nodes: connection refused", one["text"]
  end

  test "nodes that wait for an assignment are one problem, the worst if none has one" do
    waiting = { "unassigned_since" => NOW - 31 }
    one, = found = of(node(0, row(0)), node(1, **waiting), node(2, **waiting))
    assert_equal [1, "no_assignment", "warning", "group billing", 31.0, nil],
                 [found.size, *one.values_at("kind", "level", "subject", "since", "node")]
    assert_equal "a rebalance doesn't end: 2 of 3 nodes wait for their partitions", one["text"]
    one, = of(node(1, **waiting))
    assert_equal ["critical", 1], one.values_at("level", "node")
    away = { "since" => NOW - 20, "error" => nil }
    assert_equal(%w[broker_unreachable],
                 of(node(1, **waiting, "outage" => away)).map { |found| found["kind"] })
  end

  test "clocks apart are told for a minute after a message has shown it" do
    one, = of(node(0, row(0), "clock_ahead" => { "seconds" => 42.5, "seen" => NOW - 50 }))
    assert_equal %w[clocks_apart warning], one.values_at("kind", "level")
    assert_includes one["text"], "42.5 s behind"
    assert_empty of(node(0, row(0), "clock_ahead" => { "seconds" => 42.5, "seen" => NOW - 61 }))
  end

  test "a lag is said to be unknown after a while, also that of a process that has ended" do
    unknown = ->(ago) { row(1, "lag" => nil, "lag_unknown_since" => NOW - ago) }
    assert_empty of(node(0, unknown.call(14)))
    one, = of(node(0, unknown.call(16), row(2)))
    assert_equal ["lag_unknown", "warning", "group billing", 16.0, 0],
                 one.values_at("kind", "level", "subject", "since", "node")
    assert_includes one["text"], "of 1 partition isn't known"
    gone = { **node(1, row(5), row(6)), "state" => "waiting", "down_for" => 20.0 }
    assert_includes of(node(0, row(0)), gone).first["text"], "2 partitions"
    assert_empty of({ **gone, "down_for" => 3.0 })
  end

  test "partitions of a process that has ended count as unknown until another node has them" do
    gone = { **node(1, row(5), row(6)), "state" => "waiting", "down_for" => 20.0 }
    one, = of(node(0, row(0), row(6)), gone)
    assert_includes one["text"], "of 1 partition isn't known"
    assert_empty of(node(0, row(5), row(6)), gone)
    another = { **node(0, row(5), row(6)) }
    another["work"]["group"] = "audit"
    assert_includes of(another, gone).first["text"], "2 partitions"
  end

  test "partitions that a node has no longer, and those of a process that has ended, don't count" do
    failing = row(3, "failing" => FAILING)
    assert_empty of(node(0, { **failing, "held" => false }))
    assert_empty of({ **node(0, failing), "state" => "dead" })
  end

  test "healthy partitions are no problem, and odd reports are left out" do
    assert_empty of(node(0, row(0), row(1)), node(1, row(2)))
    odd = [nil, 1, "x", [], {}, 10**400]
    rows = odd.flat_map do |value|
      failing = FAILING.keys.map { |key| row(0, "failing" => { **FAILING, key => value }) }
      others = %w[stalling_since paused_until lag_unknown_since topic].map do |key|
        row(0, "failing" => FAILING, key => value)
      end
      [value, row(0, "failing" => value), *failing, *others]
    end
    nodes = rows.map { |one| node(0, one) } + odd.map do |value|
      work = { "kind" => "kafka", "group" => value, "partitions" => value }
      { **node(0, row(0)), "work" => value.is_a?(Hash) ? value : work }
    end
    nodes += odd.flat_map do |value|
      %w[outage clock_ahead unassigned_since].map { |fact| node(0, row(0), fact => value) }
    end
    of(*nodes).each do |one|
      assert_includes Problems::KINDS, one["kind"]
    end
  end

  test "the plugin hands them to the diagnosis of a swarm" do
    away = { "since" => Skep::OS.now - 4, "error" => nil }
    status = { "state" => "running", "works" => [], "nodes" => [node(0, row(0), "outage" => away)] }
    assert_equal ["broker_unreachable"], Skep::Swarm::Diagnosis.of(status).map { |one| one["kind"] }
    assert_includes Skep::Swarm::Diagnosis.kinds, "partition_held"
  end

  # All of them in the same outage, which is the worst.
  test "thousands of healthy partitions cost hardly anything" do
    nodes = Array.new(4) { |id| node(id, *Array.new(2_250) { |number| row(number) }) }
    allocated = GC.stat(:total_allocated_objects)
    assert_empty of(*nodes)
    assert_operator GC.stat(:total_allocated_objects) - allocated, :<, 9_000
  end

  # Of thousands of partitions that takes minutes.
  test "reports are never compared as a whole" do
    away = { **FAILING, "cause" => "dependency" }
    nodes = Array.new(2) do |id|
      node(id, row(id, "failing" => away), row(id + 2, "lag" => nil, "lag_unknown_since" => 0.0))
    end
    [*nodes, *nodes.map { |one| one["work"] }].each do |report|
      report.define_singleton_method(:hash) { raise "compared" }
    end
    assert_equal([["dependency_away", nil], ["lag_unknown", nil]],
                 of(*nodes).map { |one| one.values_at("kind", "node") })
  end

  private

  def of(*nodes)
    works = [{ "work" => 0, "kind" => "kafka", "group" => "billing" }]
    Problems.of({ "nodes" => nodes, "works" => works }, NOW)
  end

  def node(id, *rows, **facts)
    { "id" => id, "task" => 0, "state" => "ready",
      "work" => { "kind" => "kafka", "group" => "billing", "lag" => 0, "lag_unknown" => 0,
                  "rate" => 0.0, "partitions" => rows, **facts } }
  end

  def row(number, **facts)
    { "topic" => "orders", "partition" => number, "held" => true, "position" => 1, "end" => 1,
      "lag" => 5, "rate" => 1.0, "messages" => 1, "batches" => 1, "retries" => 0,
      "dead_letters" => 0, "skipped" => 0, "rebalances" => 1, **facts }
  end
end
