# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/cli"
require "skep/cli/chaos"
require "skep/cli/chaos/parts"

# `skep chaos`, its parts alone and on a real swarm.
class ChaosTest < Skep::TestCase
  Chaos = Skep::CLI::Chaos
  Plan, Deed, Report = %i[Plan Deed Report].map { |name| Chaos.const_get(name) }
  SKEP = File.expand_path("../../exe/skep", __dir__)
  SWARM = <<~RUBY
    Skep.swarm "victim", nodes: 3, restarts: 1_000, liveness_timeout: 1, kill_timeout: 1,
                         log: "\#{__dir__}/log", chaos: ENV["CHAOS"] == "1" do |swarm|
      swarm.on(:node_died) { }
      swarm.work { |child| child.ready!; child.wait until child.stopping? }
    end
  RUBY
  private_constant :Chaos, :Plan, :Deed, :Report, :SKEP, :SWARM

  test "a plan is the same for the same seed, and keeps to its rates" do
    first, same, other = [1, 1, 2].map { |seed| plan(rates: { kill: 60.0, stop: 6.0 }, seed:) }

    assert_equal first.deeds, same.deeds
    refute_equal first.deeds, other.deeds
    assert_equal first.deeds.sort, first.deeds
    many = plan(rates: { kill: 600.0 }, seconds: 600.0).deeds
    assert_in_delta 6_000, many.size, 600
    assert(many.all? { |at, kind| at.between?(0, 600) && kind == :kill })
  end

  test "a plan says what is wrong with it" do
    errors = plan(rates: { kill: -1.0 }, seconds: 0.0).errors.join("; ")

    assert_match(/--seconds 0.0 can't be.*--kill-rate -1.0 can't be/, errors)
    assert_empty plan.errors
    assert_match(/60 s, seed 1: \d+ kill/, plan(rates: { kill: 30.0 }).to_s)
  end

  test "a kill is answered by the next one in its slot, by its cause" do
    deed = Deed.new(:kill, "SIGKILL", node: 1, pid: 10, at: 5.0)
    [{ "event" => "node_ready", "node" => 2, "pid" => 11, "mono" => 6.0 },
     { "event" => "node_died", "node" => 1, "pid" => 10, "signal" => "KILL", "mono" => 5.1 }]
      .each { |event| deed.hear(event) }
    assert_predicate deed, :owed?

    deed.hear({ "event" => "node_ready", "node" => 1, "pid" => 12, "mono" => 5.5 })
    assert_equal ["SIGKILL", 500.0], [deed.by, deed.milliseconds]
  end

  test "a kill of a node that still has its mold's title is answered by the next node" do
    deed = Deed.new(:mold, "SIGKILL to the mold", pid: 10, at: 5.0)
    [{ "event" => "node_died", "node" => 1, "pid" => 10, "signal" => "KILL", "mono" => 5.1 },
     { "event" => "node_ready", "node" => 2, "pid" => 11, "mono" => 5.2 }]
      .each { |event| deed.hear(event) }
    assert_predicate deed, :owed?

    deed.hear({ "event" => "node_ready", "node" => 1, "pid" => 12, "mono" => 5.5 })
    assert_equal ["SIGKILL", 500.0], [deed.by, deed.milliseconds]
  end

  test "a report tells the supervisor's memory at first, warm, and in the end" do
    samples = [[0.0, 14], [4.0, 15], [7.0, 17], [60.0, 17]].map do |seconds, mib|
      Chaos.const_get(:Vitals)::Sample.new(seconds, 24, mib << 20)
    end
    report = Report.new(swarm: "a", plan:, seconds: 60.0, deeds: [], missed: {}, lost: 0,
                        zombies: [], samples:, sick: [])

    assert_equal "supervisor: descriptors 24 -> 24, private memory 14.0, after a tenth of the " \
                 "time 17.0, at the end 17.0 MiB (at most 17.0)", report.lines.last
  end

  test "a report tells what was never answered" do
    answered, owed = Array.new(2) { |id| Deed.new(:stop, "SIGSTOP", node: id, pid: 10, at: 5.0) }
    answered.answer("hung", 6.0)
    report = Report.new(swarm: "a", plan:, seconds: 60.0, deeds: [answered, owed], missed: {},
                        lost: 2, zombies: [], samples: [], sick: [])

    assert_equal ["never answered: SIGSTOP to node 1 (pid 10)", "2 events were lost"], report.faults
    assert_match(/^stop  2     1         1000.0     1000.0    hung 1$/, report.lines.join("\n"))
    assert_equal 1, JSON.parse(report.to_json).dig("harm", "stop", "answered")
  end

  test "harms a swarm in every way, and it answers" do
    with_swarm("CHAOS" => "1") do |dir|
      rates = %w[kill stop mold helper scale storm hang leak].flat_map { |k| ["--#{k}-rate", "60"] }
      out, err, status = skep(dir, "chaos", "--seconds", "4", "--seed", "5", "--json", *rates,
                              "--plot", "#{dir}/soak.svg")
      facts = JSON.parse(out)

      assert_equal [0, []], [status.exitstatus, facts["faults"]], err
      done = facts["harm"].keys | facts["missed"].keys # for want of a node that isn't suffering
      assert_equal %w[hang helper kill leak mold scale stop storm], done.sort
      assert_match(/\Achaos for swarm victim \(pid \d+\), 4 s, seed 5: .*Ctrl-C ends it$/, err)
      assert_includes File.read("#{dir}/soak.svg"), "skep chaos victim"
    end
  end

  test "Ctrl-C ends it early, with the report" do
    with_swarm do |dir|
      reader, writer = IO.pipe
      pid = spawn({ "SKEP_RUN_DIR" => dir }, RbConfig.ruby, SKEP, "chaos", "--seconds", "1000",
                  "--stop-rate", "0", "--kill-rate", "600", out: writer, err: writer, pgroup: true)
      writer.close
      assert_match(/Ctrl-C ends it/, wait_readable(reader, 30).gets)
      Process.kill(:INT, pid)
      text = reader.read
      reader.close

      assert_equal 0, Process.wait2(pid).last.exitstatus, text
      assert_match(/^swarm victim, \d s/, text)
    end
  end

  test "says in a sentence what it can't do" do
    with_swarm do |dir|
      { ["--hang-rate", "1"] => [1, /takes no orders to hang or leak: give it `chaos: true`/],
        ["--kill-rate", "-1"] => [64, /--kill-rate -1.0 can't be/],
        ["--control", "#{dir}/nobody.sock"] => [1, /no swarm answers at/],
        ["victim", "much"] => [64, /"much" is too much/] }.each do |arguments, (code, sentence)|
        _, err, status = skep(dir, "chaos", *arguments)
        assert_equal code, status.exitstatus
        assert_match(/\Askep: .*#{sentence}/, err)
      end
    end
  end

  private

  def plan(rates: { kill: 12.0 }, seconds: 60.0, seed: 1)
    Plan.new(rates:, seconds:, patience: 90.0, seed:)
  end

  def skep(dir, *arguments)
    run_command({ "SKEP_RUN_DIR" => dir }, RbConfig.ruby, SKEP, *arguments, timeout: 100)
  end

  # A swarm that runs while the block does.
  def with_swarm(env = {})
    Dir.mktmpdir do |dir|
      File.write("#{dir}/swarm.rb", SWARM)
      pid = spawn({ "SKEP_RUN_DIR" => dir, **env }, RbConfig.ruby, SKEP, "run", "#{dir}/swarm.rb",
                  out: "#{dir}/out", err: "#{dir}/out", pgroup: true)
      until_ready(dir)
      yield dir
    ensure
      Process.kill(:TERM, pid)
      assert_equal 0, Process.wait2(pid).last.exitstatus
    end
  end

  def until_ready(dir)
    by = deadline(30)
    feed = follow("#{dir}/victim.sock", by)
    until ready?(dir)
      wait_readable(feed.to_io, seconds_until(by))
      feed.take
    end
  ensure
    feed&.close
  end

  # Nobody says when a socket is there.
  def follow(path, by)
    Skep::Watch::Query.new(path).follow
  rescue Skep::Watch::Query::Failed
    raise if seconds_until(by).zero?

    IO.select(nil, nil, nil, 0.05)
    retry
  end

  def ready?(dir)
    status = Skep::Watch::Query.new("#{dir}/victim.sock").ask("status")["status"]
    status["nodes"].size == 3 && status["nodes"].all? { |node| node["state"] == "ready" }
  end
end
