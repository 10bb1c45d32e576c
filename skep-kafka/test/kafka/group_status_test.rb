# frozen_string_literal: true

require "test_helper"
require "skep/kafka/group_status"

# A consumer group in a status. No broker runs, and skep/kafka isn't loaded.
class KafkaGroupStatusTest < Skep::TestCase
  GroupStatus = Skep::Kafka::GroupStatus

  test "a group adds up its nodes' lag and rates, and the totals of the swarm" do
    works = [{ "group" => "g", "totals" => { "messages" => 9, "dead_letters" => 1 } },
             { "group" => "g", "totals" => { "messages" => 2, "retries" => "x" } },
             { "group" => "other", "totals" => { "messages" => 1 } }]
    all = all([node(0, row(0, lag: 40), lag: 40, rate: 10.0),
               node(1, row(1, lag: 2), lag: 2, rate: 5.5),
               { "id" => 2, "work" => { "done" => 0 } }], works)
    assert_equal ["g"], all.map(&:name)
    assert_equal [42, 15.5, 0], [all.first.lag, all.first.rate, all.first.unknown]
    assert_equal [11, 0, 1], all.first.totals.values_at("messages", "retries", "dead_letters")
    assert_equal [42, nil], GroupStatus.lag(all)
  end

  test "a lag says of which partitions and nodes it isn't known" do
    ended = { **node(1, row(1), row(2), row(3), lag: 15, rate: 7.0), "state" => "dead" }
    nodes = [node(0, row(0, lag: 40), row(1, lag: nil), lag: 40, unknown: 1, rate: 2.0), ended,
             { "id" => 2, "task" => 0, "work" => { "done" => 0 } },
             { "id" => 3, "task" => 1, "work" => { "done" => 0 } },
             { "id" => "spare 0", "task" => 0, "work" => { "done" => 0 } }]
    works = [{ "group" => "g" }, { "group" => "other" }]
    group, = groups = all(nodes, works)
    assert_equal [40, "of 3 partitions and of node 2"], GroupStatus.lag(groups)
    assert_equal [2.0, [2]], [group.rate, group.silent]
    assert_equal([[0, 0, 40], [1, 0, nil], [2, nil, nil], [3, nil, nil]],
                 group.partitions.map { |one| [one.number, one.node, one.lag] })
    assert_equal [nil, "of 3 partitions"], GroupStatus.lag(all([ended], works))
    assert_equal [nil, nil], GroupStatus.lag([])
  end

  test "a partition's counts are those of all its nodes, its position that of the present one" do
    group, = all([node(0, row(1, lag: nil, held: false, messages: 10), row(0, lag: nil)),
                  node(1, row(1, lag: 7, messages: 5))])
    assert_equal([[0, 0, nil, 1], [1, 1, 7, 15]], group.partitions.map do |one|
      [one.number, one.node, one.lag, one.counts["messages"]]
    end)
    assert_in_delta 0.00115, group.partitions.first.handler_times.first, 0.0001
  end

  test "a topic is without its dependency as long as one of its present partitions says so" do
    { "message" => [], "dependency" => ["orders"], "part_of_dependency" => ["orders"] }
      .each do |cause, topics|
        assert_equal topics, all([node(0, row(1), failing(0, cause))]).first.without_dependency
      end
    lost = { **failing(2, "dependency"), "held" => false }
    dead = { **node(2, failing(4, "dependency")), "state" => "dead" }
    assert_empty all([node(0, lost), dead]).first.without_dependency
    [1, {}, failing(0, "x")["failing"], { **failing(0, "message")["failing"], "since" => "x" }]
      .each { |odd| assert_empty all([node(0, { **row(0), "failing" => odd })]) }
  end

  test "handler times are those of the nodes, and nil without any" do
    histogram = row(0)["handler"]
    timed = node(0)
    timed["work"]["handler"] = histogram
    times = all([timed, node(1)]).first.handler_times
    assert_equal [0.00115, 0.00115], times.map { |seconds| seconds.round(5) }
    assert_equal [nil, nil], all([node(0)]).first.handler_times
    assert_equal [nil, nil], all([node(0, { **row(0), "handler" => { "p50" => 1 } })])
      .first.partitions.first.handler_times
  end

  test "a node whose work isn't the report of a Kafka source is left out" do
    odd = [nil, -1.0 / 0, "x", [], {}, 10**400]
    rows = odd.flat_map { |value| [value, *row(0).keys.map { |key| { **row(0), key => value } }] }
    reports = rows.map.with_index { |row, id| node(id, row) }
    works = odd.flat_map do |value|
      [value.to_s, *%w[kind group lag lag_unknown rate partitions handler]].map do |key|
        { **node(0, row(0))["work"], key => value }
      end
    end
    nodes = [*reports, *works.map { |work| { "id" => 0, "state" => "ready", "work" => work } }]
    all(nodes).each do |group|
      assert_kind_of Array, [group.rate, group.unknown, group.silent, group.totals,
                             group.handler_times, *group.partitions.map { |one|
                               [one.rate, one.counts, one.handler_times, one.lost?]
                             }]
    end
    assert_empty all([{ "id" => 1, "work" => { "kind" => "kafka" } }])
  end

  private

  def all(nodes, works = []) = GroupStatus.all("nodes" => nodes, "works" => works)

  def node(id, *rows, lag: 0, unknown: 0, rate: 0.0)
    { "id" => id, "work" => { "kind" => "kafka", "group" => "g", "lag" => lag, "rate" => rate,
                              "lag_unknown" => unknown, "partitions" => rows } }
  end

  def failing(number, cause)
    { **row(number), "failing" => { "cause" => cause, "messages" => 1, "offset" => 41,
                                    "attempt" => 3, "since" => Skep::OS.now } }
  end

  def row(number, lag: 5, held: true, messages: 1)
    durations = Skep::Swarm::Stats::Histogram.new.tap { |some| some.add(1_150_000) }.to_plain
    { "topic" => "orders", "partition" => number, "held" => held, "position" => 1, "end" => 1,
      "lag" => lag, "rate" => 1.0, "messages" => messages, "batches" => 1, "retries" => 0,
      "dead_letters" => 0, "skipped" => 0, "rebalances" => 1, "handler" => durations }
  end
end
