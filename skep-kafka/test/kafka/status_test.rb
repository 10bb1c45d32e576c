# frozen_string_literal: true

require "test_helper"
require "socket"
require "stringio"
require "tmpdir"
require "skep/cli"
require "skep/cli/commands/status"

# The consumer groups in `skep status`.
class KafkaStatusTest < Skep::TestCase
  test "prints two lines for each group, and a row for each partition" do
    status = { "name" => "billing", "pid" => 7, "state" => "running", "uptime" => 1.0,
               "skep" => "1", "nodes" => [node(lag: 42, rows: [row(3), row(12)])],
               "works" => [{ "group" => "g", "totals" => { "messages" => 9 } }] }
    failing = { "cause" => "part_of_dependency", "messages" => 2, "since" => Skep::OS.now + 60,
                "offset" => 1, "attempt" => 3 }
    status["nodes"].first["work"]["partitions"].last["failing"] = failing
    lines = skep("status", "--partitions", status:)
    assert_equal <<~TEXT, lines.drop(3).join
      group g: lag 42, of 1 partition unknown, 15.5 messages/s, a batch takes 1.15ms (p50) to 1.15ms (p99)
      group g since the swarm started: messages 9, retries 0, dead letters 0, skipped 0, rebalances 0
      rows: since their node's start
      topic   partition  node  position  lag  rate  p50     p99     messages  retries  dead letters  skipped  rebalances  failing
      orders          3     0         1    0   1.0  1.15ms  1.15ms         8        0             0        0           1  -
      orders         12     0         1    0   1.0  1.15ms  1.15ms         8        0             0        0           1  part of dependency
    TEXT
  end

  test "shows a node with invalid facts, and no consumer group for it" do
    [{ partitions: [1] }, { partitions: [{}], group: 1 },
     { group: "g", lag: nil, rate: "x", partitions: [] }].each do |work|
      nodes = [{ **node(lag: 0, rows: []), "work" => { kind: "kafka", **work } }]
      lines = skep("status", "--partitions", status: { "name" => "a", "pid" => 7, "skep" => "1",
                                                       "state" => "running", "uptime" => 1.0,
                                                       "nodes" => nodes })
      assert_equal 3, lines.size, lines
    end
  end

  test "the list of swarms marks a lag that leaves partitions out" do
    lags = [0, 1].map do |unknown|
      status = { "nodes" => [node(lag: 3, rows: [row(0)], unknown:)], "works" => [],
                 "uptime" => 1.0, "pid" => 7, "state" => "running" }
      Skep::CLI::SwarmList.new([["billing", status]], Skep::CLI::UI::Ansi.for(StringIO.new)).to_s
    end
    assert_equal [false, true], lags.map { |text| text.include?("3+") }
  end

  private

  # Returns the lines that the command prints of a swarm with this status.
  def skep(*words, status:)
    Dir.mktmpdir do |directory|
      path = "#{directory}/a.sock"
      UNIXServer.open(path) do |server|
        answering = Thread.new do
          client = server.accept
          client.gets
          client.write(JSON.generate({ status: }))
          client.close
        end
        out = StringIO.new
        Skep::CLI.start([*words, "--control", path], out:, err: $stderr)
        answering.join
        return out.string.lines
      end
    end
  end

  def node(lag:, rows:, unknown: 1)
    { "id" => 0, "state" => "ready", "restarts" => 0,
      "work" => { "kind" => "kafka", "group" => "g", "lag" => lag, "lag_unknown" => unknown,
                  "rate" => 15.5, "handler" => durations, "partitions" => rows } }
  end

  def row(number)
    { "topic" => "orders", "partition" => number, "held" => true, "position" => 1, "end" => 1,
      "lag" => 0, "rate" => 1.0, "messages" => 8, "batches" => 1, "retries" => 0,
      "dead_letters" => 0, "skipped" => 0, "rebalances" => 1, "handler" => durations }
  end

  def durations = Skep::Swarm::Stats::Histogram.new.tap { |some| some.add(1_150_000) }.to_plain
end
