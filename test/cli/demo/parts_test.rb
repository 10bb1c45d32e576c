# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/cli"
require "skep/cli/demo"
require "skep/cli/demo/parts"

# What `skep demo` is made of, piece by piece.
class DemoPartsTest < Skep::TestCase
  Demo = Skep::CLI::Demo
  Account, Frame, Kills, Orders, Pace, Plan, Roster, Scene, Verdict =
    %i[Account Frame Kills Orders Pace Plan Roster Scene Verdict]
      .map { |part| Demo.const_get(part) }
  private_constant(*constants(false))

  test "the account counts each message once, and what was done again as duplicates" do
    ledgers do |folder, account|
      write(folder, "0-11", [0, 1, 2])
      write(folder, "1-12", [2, 3, 3])
      assert_equal 6, account.read
      assert_equal [4, 2, 6], [account.processed, account.duplicates, account.records]
      assert_equal [3, 3, 0], [account.of(0), account.of(1), account.of(2)]
    end
  end

  test "the account goes on where it left off, and a node's next life adds to it" do
    ledgers do |folder, account|
      write(folder, "0-11", [0, 1])
      account.read
      write(folder, "0-11", [2])
      write(folder, "0-13", [3])
      assert_equal 2, account.read
      assert_equal 0, account.read
      assert_equal [4, 4], [account.processed, account.of(0)]
    end
  end

  test "the account leaves out a record that isn't whole until it is" do
    ledgers do |folder, account|
      record = [7, 0, 0].pack("LLQ")
      File.binwrite(File.join(folder, "0-11.ledger"), record[0, 9])
      assert_equal 0, account.read
      File.binwrite(File.join(folder, "0-11.ledger"), record)
      assert_equal 1, account.read
      assert_equal 1, account.processed
    end
  end

  test "the account takes no message for one that was produced if it wasn't" do
    ledgers do |folder, account|
      write(folder, "0-11", [9, 10, 4_000_000_000])
      account.read
      assert_equal [1, 2], [account.processed, account.duplicates]
    end
  end

  test "a plan keeps work back for each kill, and lets all be produced in the end" do
    [[200_000, 10], [100_000, 20], [2_000, 2], [7, 3], [1, 3], [5, 0]].each do |messages, kills|
      plan = plan(messages:, kills:)
      kills.times do |index|
        assert_operator plan.kill_at(index), :<=, plan.allowed(plan.kill_at(index), index)
        assert_operator plan.allowed(messages, index), :<=, messages * (index + 1).fdiv(kills) + 1
      end
      assert_equal messages, plan.allowed(messages, kills)
    end
  end

  test "a plan never has more on the way than a partition of the embedded broker keeps" do
    most = Orders.new(3, inbox(3)).map { |_, payload| payload.bytesize }.max
    assert_operator most, :<=, Orders::BYTES
    ahead = plan(messages: 1_000_000, kills: 0).allowed(0, 0)
    assert_operator ahead * (most + Orders::OVERHEAD), :<, 5 * 1024 * 1024
  end

  test "orders come as far as they are allowed, and stop when nothing more will be" do
    orders = Orders.new(100, inbox(3, 8))
    ids = []
    assert_raises(Orders::Stopped) { orders.each { |_, payload| ids << JSON.parse(payload)["id"] } }
    assert_equal [(0...8).to_a, 8], [ids, orders.made]
  end

  test "a kill is answered by another process of the same node, and by no other" do
    killing(kills: 2) do |kills, pid, pidfd|
      assert kills.due?(250)
      kills.strike
      assert_equal "KILL", Signal.signame(pidfd.wait(timeout: 10).termsig)
      refute kills.due?(1_000)
      ready(kills, 1, pid + 1, 5.0)
      ready(kills, 0, pid, 5.0)
      assert_predicate kills, :waiting?
      ready(kills, 0, pid + 1, kills.made.first.at + 0.25)
      assert_in_delta 250.0, kills.median
      assert_equal [false, false], [kills.waiting?, kills.done?]
    end
  end

  test "the verdict is a success only if nothing was lost and every kill was answered" do
    assert_empty verdict.faults
    assert_equal ["3 messages of 1,000 got lost"], verdict(processed: 997).faults
    assert_match(/only 900 of 1,000/, verdict(produced: 900, processed: 900).faults.join)
    assert_match(/1 of 2 kills/, verdict(done: false).faults.join)
    assert_match(/exit status 2/, verdict(swarm_status: "exit status 2").faults.join)
  end

  test "the table fits 80 columns and the terminal's height, with and without colours" do
    [[true, 24], [false, 24], [false, 12]].each do |colours, rows|
      frame = Frame.new(colours:, unicode: colours)
      lines = frame.lines(scene(nodes: 30), Skep::OS.now, rows:, columns: 80)
      assert_equal colours, lines.join.include?("\e[")
      assert_operator lines.map { |line| line.gsub(/\e\[\d+m/, "").size }.max, :<, 80
      assert_operator lines.size, :<, 24
      assert_match(/and \d+ more/, lines.join("\n"))
    end
  end

  private

  def ledgers
    Dir.mktmpdir { |folder| yield folder, Account.new(folder, messages: 10) }
  end

  def write(folder, name, ids)
    File.open(File.join(folder, "#{name}.ledger"), "ab") do |file|
      ids.each { |id| file.syswrite([id, 0, id].pack("LLQ")) }
    end
  end

  def plan(messages: 1_000, nodes: 4, kills: 2) = Plan.new(messages:, nodes:, kills:)

  def inbox(*limits)
    inbox = Skep::Threads::Inbox.new
    limits.each { |limit| inbox.push(limit) }
    inbox.tap(&:close)
  end

  # With a node of flesh and blood.
  def killing(kills:)
    nobody, silent = IO.pipe
    pid, = in_child { nobody.wait_readable(30) }
    roster = Roster.new
    %w[node_forked node_ready].each do |event|
      roster.hear("event" => event, "node" => 0, "pid" => pid)
    end
    pidfd = Skep.pidfd(pid)
    yield Kills.new(plan(kills:), roster), pid, pidfd
  ensure
    [roster, pidfd, nobody, silent].each(&:close)
  end

  def ready(kills, node, pid, mono)
    kills.hear("event" => "node_ready", "node" => node, "pid" => pid, "mono" => mono)
  end

  KillsDone = Struct.new(:done) do
    def done? = done
    def median = 1.0
    def made = [1, 2]
    def answered = done ? made : [1]
  end
  private_constant :KillsDone

  def verdict(done: true, **facts)
    Verdict.new(plan:, brokers: "embedded", produced: 1_000, processed: 1_000, duplicates: 1,
                restarts: 2, seconds: 1.0, swarm_status: "exit status 0",
                kills: KillsDone.new(done), **facts)
  end

  def scene(nodes:)
    roster = Roster.new
    nodes.times { |id| roster.hear("event" => "node_waiting", "node" => id) }
    plan = plan(messages: 100_000_000, nodes:)
    Scene.new(plan:, roster:, kills: Kills.new(plan, roster),
              account: Account.new(Dir.tmpdir, messages: 10), pace: Pace.new, phase: "working")
  end
end
