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

  test "a lag says of which partitions and nodes it isn't known" do
    held = [partition(0, lag: 40), partition(1, lag: nil)]
    ended = [partition(1, lag: 5), partition(2, lag: 5), partition(3, lag: 5)]
    nodes = [node(0, lag: 40, rate: 2.0, partitions: held),
             { **node(1, lag: 15, rate: 7.0, partitions: ended), "state" => "dead" },
             { "id" => 2, "task" => 0, "work" => { "done" => 0 } },
             { "id" => 3, "task" => 1, "work" => { "done" => 0 } },
             { "id" => "spare 0", "task" => 0, "work" => { "done" => 0 } }]
    works = [{ "group" => "g" }, { "group" => "other" }]
    all = Summary.all("nodes" => nodes, "works" => works)
    assert_operator all.first.to_s, :start_with?,
                    "group g: lag 40, of 3 partitions and of node 2 unknown, 2.0 messages/s"
    assert_equal([[0, 0, 40], [1, 0, nil], [2, nil, nil], [3, nil, nil]],
                 all.first.rows.map { |row| row.values_at(1, 2, 4) })

    only = Summary.all("nodes" => [nodes[1]], "works" => works).first
    assert_operator only.to_s, :start_with?, "group g: lag -, of 3 partitions unknown, 0.0 mess"
  end

  test "a node says itself how many of its partitions have no known lag" do
    left_out = node(0, partitions: [partition(0, lag: 1)])
    left_out["work"]["lag_unknown"] = 7
    group, = Summary.all("nodes" => [left_out], "works" => [])
    assert_operator group.to_s, :start_with?, "group g: lag 0, of 7 partitions unknown"
  end

  test "the list of swarms marks a lag that leaves partitions out" do
    lists = [[partition(0, lag: 3)], [partition(0, lag: 3), partition(1, lag: nil)]]
    lags = lists.map do |partitions|
      status = { "nodes" => [node(0, lag: 3, partitions:)], "works" => [], "uptime" => 1.0,
                 "pid" => 7, "state" => "running" }
      Skep::CLI::SwarmList.new([["billing", status]], Skep::CLI::UI::Ansi.for(StringIO.new)).to_s
    end
    assert_equal [false, true], lags.map { |text| text.include?("3+") }
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
