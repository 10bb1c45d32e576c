# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/commands/status"

# The summary of consumer groups in `skep status`.
class StatusCommandTest < Skep::TestCase
  Summary = Skep::CLI::ConsumerGroupSummary

  test "a group's summary adds up its nodes' lag and rates, and the totals of the swarm" do
    status = { "nodes" => [node(0, lag: 40, rate: 10.0, partitions: [partition(0, lag: 40)]),
                           node(1, lag: 2, rate: 5.5, partitions: [partition(1, lag: 2)]),
                           { "id" => 2, "work" => { "done" => 0 } }],
               "works" => [{ "group" => "g", "totals" => { "messages" => 9, "dead_letters" => 1 } },
                           { "group" => "other", "totals" => { "messages" => 1 } }] }
    group, = Summary.all(status)
    assert_equal 1, Summary.all(status).size
    assert_equal <<~TEXT.chomp, group.to_s
      group g: lag 42, 15.5 messages/s, a batch takes 1.15ms (p50) to 1.15ms (p99)
      group g since the swarm started: messages 9, retries 0, dead letters 1, skipped 0, rebalances 0
    TEXT
  end

  test "a partition has one row, however many nodes have had it" do
    status = { "nodes" => [node(0, partitions: [partition(1, lag: nil, held: false, messages: 10),
                                                partition(0, lag: nil)]),
                           node(1, partitions: [partition(1, lag: 7, messages: 5)])],
               "works" => [] }
    rows = Summary.all(status).first.rows.map { |row| Summary::HEAD.zip(row).to_h }
    assert_equal [[0, 0, nil, 1], [1, 1, 7, 15]],
                 rows.map { |row| row.values_at("partition", "node", "lag", "messages") }
  end

  test "a node whose work is no report of a Kafka source is left out" do
    wrong = [[partition(0, lag: 0).merge("rate" => nil)], [3], [{ "topic" => 1, "partition" => 0 }]]
    nodes = wrong.map.with_index { |rows, id| node(id, partitions: rows) }
    assert_empty Summary.all("nodes" => [*nodes, node(3, lag: [], partitions: [])], "works" => [])
    odd = partition(0, lag: 0).merge("handler" => { "p50" => 1 })
    group, = Summary.all("nodes" => [*nodes, node(3, partitions: [odd])], "works" => [])
    assert_equal [[0, 3]], group.rows.map { |row| row.values_at(1, 2) }
  end

  private

  def node(id, partitions:, lag: 0, rate: 0.0)
    { "id" => id, "work" => { "kind" => "kafka", "group" => "g", "lag" => lag, "rate" => rate,
                              "partitions" => partitions } }
  end

  def partition(number, lag:, held: true, messages: 1)
    durations = Skep::Swarm::Stats::Histogram.new.tap { |some| some.add(1_150_000) }.to_plain
    { "topic" => "orders", "partition" => number, "held" => held, "position" => 1, "end" => 1,
      "lag" => lag, "rate" => 1.0, "messages" => messages, "batches" => 1, "retries" => 0,
      "dead_letters" => 0, "skipped" => 0, "rebalances" => 1, "handler" => durations }
  end
end
