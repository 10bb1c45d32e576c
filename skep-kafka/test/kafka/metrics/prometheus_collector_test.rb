# frozen_string_literal: true

require "test_helper"
require "metrics/snapshots"
require "skep/plugin/kafka"

# The metrics of Kafka sources, from a status.
class KafkaPrometheusCollectorTest < Skep::TestCase
  include Snapshots

  test "reports a consumer group's work, and each partition once" do
    row = { "topic" => "orders", "partition" => 3, "held" => true, "position" => 10, "end" => 12,
            "lag" => 2 }
    counts = { "messages" => 5, "verdict_dependency" => 2 }
    works = [kafka_work("orders", totals: { "rebalances" => 3 },
                                  by_topic: [topic("orders", counts)])]
    nodes = [node(0, work: kafka(row, { **row, "partition" => 4, "held" => false })),
             node(1, work: kafka({ **row, "lag" => nil }))]
    metrics = figures(status(works:, nodes:))
    {
      'skep_kafka_messages_total{work="0",group="billing",topic="orders"}' => "5",
      'skep_kafka_failures_total{work="0",group="billing",topic="orders"}' => "0",
      'skep_kafka_rebalances_total{work="0",group="billing"}' => "3",
      'skep_kafka_verdicts_total{work="0",group="billing",topic="orders",cause="dependency"}' =>
        "2",
      'skep_kafka_verdicts_total{work="0",group="billing",topic="orders",cause="message"}' => "0",
      'skep_kafka_dependency_away{group="billing",topic="orders"}' => "0",
      'skep_handler_seconds_bucket{work="0",group="billing",topic="orders",le="0.25"}' => "1",
      'skep_kafka_partitions{node="0",group="billing"}' => "1",
      'skep_kafka_end{group="billing",topic="orders",partition="3"}' => "12"
    }.each { |series, value| assert_equal value, metrics[series], series }
    assert_equal 1, metrics.keys.grep(/skep_kafka_position/).size
  end

  test "reports a dependency as unavailable, or a part of it, by topic" do
    rows = %w[dependency part_of_dependency message].map do |cause|
      { "topic" => cause, "partition" => 3, "held" => true,
        "failing" => { "cause" => cause, "messages" => 1, "since" => 1, "offset" => 1,
                       "attempt" => 1 } }
    end
    metrics = figures(status(nodes: [node(0, work: kafka(*rows))]))
    assert_equal %w[1 1 0], rows.map { |row|
      metrics["skep_kafka_dependency_away{group=\"billing\",topic=\"#{row["topic"]}\"}"]
    }
  end

  test "reports no lag of a process that has ended, and how many partitions have no known lag" do
    row = { "topic" => "orders", "partition" => 3, "held" => true, "lag" => 2 }
    nodes = [node(0, work: { **kafka(row), "lag_unknown" => 1 }),
             { **node(1, work: { **kafka({ **row, "partition" => 4 }), "lag_unknown" => 2 }),
               "state" => "dead" }]
    metrics = figures(status(nodes:))
    assert_equal ['skep_kafka_lag{group="billing",topic="orders",partition="3"}'],
                 metrics.keys.grep(/skep_kafka_lag\{/)
    assert_equal ["1", nil], [0, 1].map { |id|
      metrics["skep_kafka_lag_unknown{node=\"#{id}\",group=\"billing\"}"]
    }
  end

  test "reports each topic from the start, and those of a pattern once they have messages" do
    start = figures(status(works: [kafka_work("orders", "refunds", "^audit")]))
    labels = 'work="0",group="billing"'
    series = ->(topic) { "skep_kafka_retries_total{#{labels},topic=\"#{topic}\"}" }
    assert_equal ["0", "0", nil], start.values_at(*%w[orders refunds ^audit].map(&series))
    assert_equal "0", start['skep_handler_seconds_count{work="0",group="billing",topic="refunds"}']

    works = [kafka_work("^audit", by_topic: [topic("audit.tokens", "retries" => 2)])]
    assert_equal "2", figures(status(works:))[series.call("audit.tokens")]
  end

  test "reports the statistics of a node's Kafka client" do
    brokers = [{ "id" => 1, "up" => true, "queued" => 2, "in_flight" => 1, "rtt" => 0.5,
                 "disconnects" => 3, "timeouts" => 4 },
               { "id" => "coordinator", "up" => false, "rtt" => nil }]
    client = { "joined" => true, "rebalances" => 6, "fetched_messages" => 7, "fetched_bytes" => 8,
               "queued_events" => 9, "brokers" => brokers }
    metrics = figures(status(nodes: [node(0, work: { **kafka, "client" => client })]))
    node = 'node="0",group="billing"'
    {
      "joined{#{node}}" => "1", "rebalances_total{#{node}}" => "6",
      "fetched_messages{#{node}}" => "7", "fetched_bytes{#{node}}" => "8",
      "queued_events{#{node}}" => "9",
      "broker_up{#{node},broker=\"1\"}" => "1", "broker_up{#{node},broker=\"coordinator\"}" => "0",
      "requests{#{node},broker=\"1\",state=\"queued\"}" => "2",
      "requests{#{node},broker=\"1\",state=\"in_flight\"}" => "1",
      "rtt_seconds{#{node},broker=\"1\"}" => "0.5",
      "disconnects_total{#{node},broker=\"1\"}" => "3",
      "timeouts_total{#{node},broker=\"1\"}" => "4"
    }.each { |series, value| assert_equal value, metrics["skep_kafka_client_#{series}"], series }
    refute metrics.key?("skep_kafka_client_rtt_seconds{#{node},broker=\"coordinator\"}")
  end

  test "ignores invalid facts of a node's work" do
    [{}, { "partitions" => [1, nil, { "held" => true }] }, { "partitions" => "all", "group" => [] },
     { "client" => "up" }, { "client" => { "brokers" => 1 } },
     { "client" => { "joined" => [], "brokers" => [nil, { "up" => {} }] } }].each do |facts|
      work = { "kind" => "kafka", **facts }
      assert_equal "2", figures(status(nodes: [node(0, work:), node(1)]))["skep_nodes_wanted"]
    end
  end

  private

  def kafka_work(*topics, **facts)
    work(kind: "kafka", group: "billing", topics:, by_topic: [], **facts)
  end

  def topic(topic, totals)
    { "topic" => topic, "totals" => totals,
      "handler" => { "count" => 1, "sum" => 0.2, "buckets" => [[0.2, 1]] } }
  end

  def kafka(*rows)
    counts = { "rate" => 1.0, "messages" => 1, "retries" => 0, "dead_letters" => 0, "skipped" => 0,
               "rebalances" => 1 }
    { "kind" => "kafka", "group" => "billing", "lag" => 0, "lag_unknown" => 0, "rate" => 1.0,
      "partitions" => rows.map { |row| { **counts, **row } } }
  end
end
