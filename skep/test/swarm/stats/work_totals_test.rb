# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class WorkTotalsTest < Skep::TestCase
  Node = Struct.new(:task, :work)

  test "adds the totals of live nodes to those of exited nodes, by kind of work" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    totals.add_exited(node(0, messages: 10, dead_letters: 1))
    totals.add_exited(node(0, messages: 5))
    totals.add_exited(node(1, messages: 100))

    live = [node(0, messages: 3, retries: 2), node(1, messages: 1)]
    assert_equal({ "messages" => 18, "dead_letters" => 1, "retries" => 2 }, totals.of(0, live))
    assert_equal({ "messages" => 101 }, totals.of(1, live))
    assert_equal({}, totals.of(2, live))
  end

  test "ignores a node that reported no totals or has no kind of work" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    [Node.new(0, {}), Node.new(nil, { "totals" => { "messages" => 1 } })].each do |one|
      totals.add_exited(one)
    end
    assert_equal({}, totals.of(0, []))
  end

  test "merges the handler times of live and exited nodes" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    totals.add_exited(Node.new(0, { "handler" => times(0.001, 0.002) }))
    live = [Node.new(0, { "handler" => times(0.002) }), Node.new(1, { "handler" => times(9.0) })]
    assert_equal [[0.001, 1], [0.002, 2]], totals.handler(0, live)["buckets"]
    assert_nil totals.handler(2, live)
  end

  test "adds up the totals of each topic" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    totals.add_exited(topics("orders" => 1, "refunds" => 2))
    rows = totals.by_topic(0, [topics("orders" => 5), node(0, messages: 9)])
    assert_equal([["orders", 6, 2], ["refunds", 2, 1]], rows.map { |row|
      [row["topic"], row["totals"]["messages"], row["handler"]["count"]]
    })
    assert_empty totals.by_topic(1, [])
  end

  test "adds up topics beyond the fiftieth as other" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    totals.add_exited(topics((1..50).to_h { |number| ["topic#{number}", 1] }))
    totals.add_exited(topics((49..55).to_h { |number| ["topic#{number}", 1] }))
    messages = messages(totals.by_topic(0, []))
    assert_equal [51, 2, 5], [messages.size, messages["topic50"], messages["other"]]
  end

  # Prometheus takes a counter that falls for one that was reset.
  test "a topic that had its own row keeps it, whichever nodes end" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    nodes = [topics((1..50).to_h { |number| ["topic#{number}", 1] }),
             topics((51..100).to_h { |number| ["topic#{number}", 1] })]
    before = messages(totals.by_topic(0, nodes))
    totals.add_exited(nodes.pop)
    assert_equal before, messages(totals.by_topic(0, nodes))
    totals.add_exited(nodes.pop)
    assert_equal [before, 50], [messages(totals.by_topic(0, nodes)), before["other"]]
  end

  test "a name that was counted keeps its total, whichever nodes end" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    nodes = [0, 64].map { |from| node(0, **(from...(from + 64)).to_h { |n| [:"n#{n}", 1] }) }
    before = totals.of(0, nodes)
    totals.add_exited(nodes.pop)
    assert_equal [before, 64], [totals.of(0, nodes), before.size]
  end

  test "what a node adds to the totals of a topic isn't kept" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    node = topics("orders" => 1)
    node.work["by_topic"].first.merge!("more" => "x")["handler"]["more"] = "x"
    totals.add_exited(node)
    row = totals.by_topic(0, []).first
    assert_equal [%w[topic totals handler], %w[count sum p50 p99 buckets]],
                 [row.keys, row["handler"].keys]
  end

  test "keeps at most 64 names of a kind of work" do
    totals = Skep::Swarm::Stats::WorkTotals.new
    50.times { |n| totals.add_exited(node(0, **(0..9).to_h { |m| [:"#{n}/#{m}", 1] })) }
    assert_equal 64, totals.of(0, []).size
  end

  private

  def times(*seconds)
    histogram = Skep::Swarm::Stats::Histogram.new
    seconds.each { |one| histogram.add((one * 1e9).round) }
    histogram.to_plain
  end

  def messages(rows) = rows.to_h { |row| [row["topic"], row["totals"]["messages"]] }

  def topics(messages)
    rows = messages.map do |topic, number|
      { "topic" => topic, "totals" => { "messages" => number }, "handler" => times(0.001) }
    end
    Node.new(0, { "by_topic" => rows })
  end

  def node(task, **totals) = Node.new(task, { "totals" => totals.transform_keys(&:to_s) })
end
