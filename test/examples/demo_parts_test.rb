# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "../../examples/demo/demo"

# What `bin/demo` counts and decides.
class DemoPartsTest < Skep::TestCase
  Ledgers, Nodes, Plan, Result, Topic =
    %i[Ledgers Nodes Plan Result Topic].map { |part| Skep::Demo.const_get(part) }
  private_constant(*constants(false))

  test "ledgers count each message once, and what was processed again as duplicates" do
    ledgers do |folder, ledgers|
      write(folder, "0-11", [0, 1, 2])
      write(folder, "1-12", [2, 3, 3])
      assert_equal 6, ledgers.read
      assert_equal [4, 2], [ledgers.processed, ledgers.duplicates]
    end
  end

  test "ledgers are read from where the last read ended" do
    ledgers do |folder, ledgers|
      write(folder, "0-11", [0, 1])
      ledgers.read
      write(folder, "0-11", [2])
      write(folder, "0-13", [3])
      assert_equal [2, 0], [ledgers.read, ledgers.read]
      assert_equal 4, ledgers.processed
    end
  end

  test "a partial record isn't counted until it is complete" do
    ledgers do |folder, ledgers|
      record = [7, 0, 0].pack("LLQ")
      File.binwrite("#{folder}/0-11.ledger", record[0, 9])
      assert_equal 0, ledgers.read
      File.binwrite("#{folder}/0-11.ledger", record)
      assert_equal [1, 1], [ledgers.read, ledgers.processed]
    end
  end

  test "a record of a message that was never produced doesn't count as processed" do
    ledgers do |folder, ledgers|
      write(folder, "0-11", [9, 10, 4_000_000_000])
      ledgers.read
      assert_equal [1, 2], [ledgers.processed, ledgers.duplicates]
    end
  end

  test "a plan leaves messages for each kill, and allows all after the last" do
    [[200_000, 10], [100_000, 20], [2_000, 2], [7, 3], [1, 3], [5, 0]].each do |messages, kills|
      plan = plan(messages:, kills:)
      kills.times do |index|
        assert_operator plan.kill_at(index), :<=, plan.allowed(plan.kill_at(index), index)
        assert_operator plan.allowed(messages, index), :<=, messages * (index + 1).fdiv(kills) + 1
      end
      assert_equal messages, plan.allowed(messages, kills)
    end
  end

  test "a plan never produces more ahead than a partition of the embedded broker keeps" do
    most = (0...3_000).map { |id| Topic.new(nil).send(:order, id).last.bytesize }.max
    assert_operator most, :<=, Topic::BYTES
    ahead = plan(messages: 1_000_000, kills: 0).allowed(0, 0)
    assert_operator ahead * (most + Topic::OVERHEAD), :<, 5 * 1024 * 1024
  end

  test "a kill is over when another process of the same node is ready" do
    with_node do |nodes, pid, pidfd|
      nodes.kill
      assert_equal "KILL", Signal.signame(pidfd.wait(timeout: 10).termsig)
      ready(nodes, 1, pid + 1, 5.0)
      ready(nodes, 0, pid, 5.0)
      assert_predicate nodes, :recovering?
      ready(nodes, 0, pid + 1, nodes.kills.first.at + 0.25)
      assert_in_delta 250.0, nodes.kills.first.milliseconds
      refute_predicate nodes, :recovering?
    end
  end

  test "a result has no faults only if nothing was lost and every killed node was replaced" do
    assert_empty result.faults
    assert_equal ["3 messages of 1,000 got lost"], result(processed: 997).faults
    assert_equal ["only 900 of 1,000 messages were produced"],
                 result(produced: 900, processed: 900).faults
    assert_equal ["only 1 of 2 killed nodes were replaced"], result(kills: [kill]).faults
    assert_equal ["the swarm ended with exit status 2"],
                 result(swarm_failure: "exit status 2").faults
  end

  private

  def ledgers
    Dir.mktmpdir { |folder| yield folder, Ledgers.new(folder, messages: 10) }
  end

  def write(folder, name, ids)
    File.open("#{folder}/#{name}.ledger", "ab") do |file|
      ids.each { |id| file.syswrite([id, 0, id].pack("LLQ")) }
    end
  end

  def plan(messages: 1_000, kills: 2) = Plan.new(messages:, nodes: 4, kills:)
  def kill = Nodes::Kill.new(0, 1, 1.0, 2, 1.25)

  def result(**facts)
    Result.new(plan:, produced: 1_000, processed: 1_000, duplicates: 1, kills: [kill, kill],
               restarts: 2, seconds: 1.0, **facts)
  end

  # With a real process as node 0.
  def with_node
    reader, writer = IO.pipe
    pid, = in_child { reader.wait_readable(30) }
    nodes = Nodes.new
    %w[node_forked node_ready].each do |event|
      nodes.handle("event" => event, "node" => 0, "pid" => pid)
    end
    pidfd = Skep.pidfd(pid)
    yield nodes, pid, pidfd
  ensure
    [nodes, pidfd, reader, writer].each(&:close)
  end

  def ready(nodes, node, pid, mono)
    nodes.handle("event" => "node_ready", "node" => node, "pid" => pid, "mono" => mono)
  end
end
