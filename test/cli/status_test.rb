# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/status"

# What `skep status` makes of what Kafka's nodes tell.
class StatusCommandTest < Skep::TestCase
  Group = Skep::CLI::Status::Group

  test "sums up what the nodes of a group see, and what has ever been counted" do
    status = { "nodes" => [node(0, lag: 40, rate: 10.0, partitions: [partition(0, lag: 40)]),
                           node(1, lag: 2, rate: 5.5, partitions: [partition(1, lag: 2)]),
                           { "id" => 2, "work" => { "done" => 0 } }],
               "works" => [{ "group" => "g", "totals" => { "messages" => 9, "dead_letters" => 1 } },
                           { "group" => "other", "totals" => { "messages" => 1 } }] }
    group, = Group.all(status)
    assert_equal 1, Group.all(status).size
    assert_equal <<~TEXT.chomp, group.to_s
      group g: lag 42, 15.5 messages/s, a batch takes 1.15ms (p50) to 1.15ms (p99)
      group g since the swarm began: messages 9, retries 0, dead letters 1, skipped 0, rebalances 0
    TEXT
  end

  test "has one row for a partition, however many nodes have had it" do
    status = { "nodes" => [node(0, partitions: [partition(1, lag: nil, held: false, messages: 10),
                                                partition(0, lag: nil)]),
                           node(1, partitions: [partition(1, lag: 7, messages: 5)])],
               "works" => [] }
    rows = Group.all(status).first.rows.map { |row| Group::HEAD.zip(row).to_h }
    assert_equal [[0, 0, nil, 1], [1, 1, 7, 15]],
                 rows.map { |row| row.values_at("partition", "node", "lag", "messages") }
  end

  test "leaves out a node whose work is not what a Kafka source reports" do
    wrong = [[partition(0, lag: 0).merge("rate" => nil)], [3], [{ "topic" => 1, "partition" => 0 }]]
    nodes = wrong.map.with_index { |rows, id| node(id, partitions: rows) }
    assert_empty Group.all("nodes" => [*nodes, node(3, lag: [], partitions: [])], "works" => [])
    odd = partition(0, lag: 0).merge("handler" => { "p50" => 1 })
    group, = Group.all("nodes" => [*nodes, node(3, partitions: [odd])], "works" => [])
    assert_equal [[0, 3]], group.rows.map { |row| row.values_at(1, 2) }
  end

  test "sets numbers to the right, and what isn't there as a dash" do
    text = Skep::CLI::Columns.new(%w[topic lag], [["orders", 1234], ["x", nil]]).to_s
    assert_equal "topic    lag\norders  1234\nx          -", text
  end

  test "colours are for terminals that can, and for who wants them" do
    seen = Struct.new(:tty?)
    colours = lambda do |tty, **env|
      Skep::CLI.const_get(:Colours).of(seen.new(tty), env: env.transform_keys(&:to_s))
    end
    painted = "\e[31;1mdead\e[0m"

    assert_equal painted, colours.call(true, TERM: "xterm").look("dead", :red, :bold)
    assert_equal painted, colours.call(true, NO_COLOR: "").look("dead", :red, :bold)
    [[true, { NO_COLOR: "1" }], [true, { TERM: "dumb" }], [false, {}]].each do |tty, env|
      assert_equal "dead", colours.call(tty, **env).look("dead", :red, :bold)
    end
  end

  test "cells are painted as wide as they are set" do
    columns = Skep::CLI::Columns.new(%w[a state], [["x", "up"]])
    painted = columns.to_s { |cell, row, column| "<#{cell}#{row}#{column}>" }

    assert_equal "<a0>  <state1>\n<x00>  <up   01>", painted
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
