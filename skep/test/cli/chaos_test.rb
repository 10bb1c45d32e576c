# frozen_string_literal: true

require "test_helper"
require "stringio"
require "json"
require "tmpdir"
require "skep/cli"
require "skep/cli/commands/chaos"

# `skep chaos`, its parts alone and on a real swarm.
class ChaosTest < Skep::TestCase
  Chaos = Skep::CLI::Chaos
  Schedule, Fault, Report = Chaos::Schedule, Chaos::Fault, Chaos::Report
  SKEP = File.expand_path("../../exe/skep", __dir__)
  SWARM = <<~RUBY
    Skep.swarm "victim", nodes: 3, max_restarts: 1_000, liveness_timeout: 1, kill_timeout: 1,
                         log: "\#{__dir__}/log", chaos: ENV["CHAOS"] == "1",
                         spares: ENV["SPARES"].to_i do |swarm|
      swarm.on(:node_died) { }
      works = ENV.fetch("WORKS", "1").to_i
      works.times { swarm.work { |node| node.ready!; node.wait until node.stopping? } }
      swarm.work(nodes: 1) { |node| node.ready!; node.wait until node.stopping? } if works > 1
    end
  RUBY
  private_constant :Chaos, :Schedule, :Fault, :Report, :SKEP, :SWARM

  test "a schedule is the same for the same seed, and keeps to its rates" do
    first, same, other = [1, 1, 2].map { |seed| schedule(rates: { kill: 60.0, stop: 6.0 }, seed:) }

    assert_equal first.times, same.times
    refute_equal first.times, other.times
    assert_equal first.times.sort, first.times
    many = schedule(rates: { kill: 600.0 }, seconds: 600.0).times
    assert_in_delta 6_000, many.size, 600
    assert(many.all? { |at, kind| at.between?(0, 600) && kind == :kill })
  end

  test "a schedule returns an error for each option out of range" do
    assert_equal ["--seconds must be more than 0 (got 0)",
                  "--kill-rate must be between 0 and 6000 (got -1)"],
                 schedule(rates: { kill: -1.0 }, seconds: 0.0).errors
    assert_empty schedule.errors
    assert_match(/60 s, seed 1: \d+ kill/, schedule(rates: { kill: 30.0 }).to_s)
  end

  test "a killed node is recovered once the next node of its slot is ready" do
    fault = Fault.new(kind: :kill, what: "SIGKILL", slot: 1, pid: 10, at: 5.0)
    [{ "event" => "node_ready", "node" => 2, "pid" => 11, "mono" => 6.0 },
     { "event" => "node_died", "node" => 1, "pid" => 10, "signal" => "KILL", "mono" => 5.1 }]
      .each { |event| fault.observe(event) }
    assert_predicate fault, :pending?

    fault.observe({ "event" => "node_ready", "node" => 1, "pid" => 12, "mono" => 5.5 })
    assert_equal ["SIGKILL", 500.0], [fault.cause, fault.milliseconds]
  end

  test "a killed node that still had its mold's title is recovered by the next node of its slot" do
    fault = Fault.new(kind: :mold, what: "SIGKILL", slot: "mold", pid: 10, at: 5.0)
    [{ "event" => "node_died", "node" => 1, "pid" => 10, "signal" => "KILL", "mono" => 5.1 },
     { "event" => "node_ready", "node" => 2, "pid" => 11, "mono" => 5.2 }]
      .each { |event| fault.observe(event) }
    assert_predicate fault, :pending?

    fault.observe({ "event" => "node_ready", "node" => 1, "pid" => 12, "mono" => 5.5 })
    assert_equal ["SIGKILL", 500.0], [fault.cause, fault.milliseconds]
  end

  test "a killed spare is recovered once it has ended and the next spare waits, in any order" do
    waits = { "event" => "spare_ready", "node" => "spare 0", "pid" => 12, "mono" => 6.0 }
    died = { "event" => "node_died", "node" => 1, "pid" => 10, "signal" => "KILL", "mono" => 6.0 }
    other = { "event" => "node_ready", "node" => 1, "pid" => 11, "mono" => 5.1 }
    [[other, waits, died], [other, died, waits]].each do |events|
      fault = Fault.new(kind: :kill, what: "SIGKILL", slot: "spare 0", pid: 10, at: 5.0)
      assert_equal "SIGKILL to spare 0 (pid 10)", fault.to_s
      events.each do |event|
        assert_predicate fault, :pending?
        fault.observe(event)
      end
      assert_equal ["SIGKILL", 1000.0], [fault.cause, fault.milliseconds]
    end
  end

  test "a report has the supervisor's memory at the start, once warm, and at the end" do
    samples = [[0.0, 14], [4.0, 15], [7.0, 17], [60.0, 17]].map do |seconds, mib|
      Report::Sample.new(seconds, 24, mib << 20)
    end

    assert_equal "supervisor: descriptors 24 -> 24, private memory 14.0, after a tenth of the " \
                 "time 17.0, at the end 17.0 MiB (at most 17.0)", report(samples:).lines.last
  end

  test "a report lists faults without a recovery as problems" do
    recovered, pending = Array.new(2) do |id|
      Fault.new(kind: :stop, what: "SIGSTOP", slot: id, pid: 10, at: 5.0)
    end
    recovered.recover("hung", 6.0)
    report = report(faults: [recovered, pending], lost_events: 2)

    assert_equal ["not recovered: SIGSTOP to node 1 (pid 10)", "2 events were lost"],
                 report.problems
    assert_match(/^stop          2          1     1000\.0    1000\.0  hung 1$/,
                 report.lines.join("\n"))
    assert_equal 1, JSON.parse(report.to_json).dig("faults", "stop", "recovered")
  end

  test "a process that a mold has just forked isn't considered a mold" do
    supervisor, reader = in_child do |writer|
      waits = -> { IO.select([IO.pipe.first]) }
      mold = fork do
        Process.setproctitle("skep victim mold 0")
        forked = fork(&waits)
        warm = fork do
          Process.setproctitle("skep victim mold 1")
          writer.puts([Process.ppid, forked, Process.pid].join(" "))
          waits.call
        end
        Process.wait(warm)
      end
      Process.wait(mold)
    end
    pids = wait_readable(reader).gets.split.map(&:to_i)

    assert_equal pids.values_at(0, 2).sort, molds_of(supervisor).sort
  ensure
    pids&.each { |pid| Process.kill(:KILL, pid) }
    Process.wait(supervisor)
  end

  test "a swarm recovers from every kind of fault" do
    with_swarm("CHAOS" => "1") do |dir|
      rates = %w[kill stop mold helper scale storm hang leak].flat_map { |k| ["--#{k}-rate", "60"] }
      out, err, status = skep(dir, "chaos", "--seconds", "4", "--seed", "5", "--json", *rates)
      facts = JSON.parse(out)

      assert_equal [0, []], [status.exitstatus, facts["problems"]], err
      kinds = facts["faults"].keys | facts["skipped"].keys # skipped if all nodes have one already
      assert_equal %w[hang helper kill leak mold scale stop storm], kinds.sort
      assert_match(/\Achaos for swarm victim \(pid \d+\), 4 s, seed 5: .*Ctrl-C ends it$/, err)
    end
  end

  test "a spare that waits at the end of a run is no problem" do
    with_swarm("SPARES" => "1") do |dir|
      report, err = chaos(dir)

      assert_equal [[], {}], report.values_at("problems", "faults"), err
    end
  end

  test "a change of scale counts nodes, but no spare" do
    with_swarm("SPARES" => "1") do |dir|
      report, = chaos(dir, scale: 120)

      assert_equal [[], ["scale"]], [report["problems"], report["faults"].keys]
      assert ready?(dir), "its 3 nodes and its spare are ready again"
    end
  end

  test "a change of scale counts the nodes of all works" do
    with_swarm("WORKS" => "2") do |dir|
      report, err = chaos(dir, scale: 120)

      assert_equal [[], ["scale"]], [report["problems"], report["faults"].keys], err
      assert ready?(dir, 7), "its 7 nodes are ready again"
    end
  end

  test "a change of scale is refused if each work has its own number of nodes" do
    target = target_swarm([{ "id" => 0, "pid" => 10, "state" => "ready" }])
    assert_equal "each work of swarm victim has its own number of nodes: leave --scale-rate out",
                 target.refusal(:scale)
  ensure
    target.close
  end

  test "a swarm recovers from faults in nodes and spares" do
    with_swarm("SPARES" => "2") do |dir|
      report, err = chaos(dir, kill: 120, stop: 60)

      assert_equal [[], %w[kill stop]], [report["problems"], report["faults"].keys.sort], err
      assert ready?(dir), "its 3 nodes and its spares are ready again"
    end
  end

  test "Ctrl-C ends it early and prints the report" do
    with_swarm do |dir|
      reader, writer = IO.pipe
      pid = spawn({ "SKEP_RUN_DIR" => dir }, RbConfig.ruby, "--disable=gems", SKEP, "chaos",
                  "--seconds", "1000", "--stop-rate", "0", "--kill-rate", "600",
                  out: writer, err: writer, pgroup: true)
      writer.close
      assert_match(/Ctrl-C ends it/, wait_readable(reader, 30).gets)
      Process.kill(:INT, pid)
      text = reader.read
      reader.close

      assert_equal 0, Process.wait2(pid).last.exitstatus, text
      assert_match(/^swarm victim, \d s/, text)
    end
  end

  test "prints one sentence for bad options and for a swarm that refuses" do
    with_swarm do |dir|
      { ["--hang-rate", "1"] => [1, /injects no faults: give it `chaos: true`/],
        ["--kill-rate", "-1"] => [64, /--kill-rate must be between 0 and 6000 \(got -1\)/],
        ["--recovery-timeout", "-1"] => [64, /--recovery-timeout must be 0 or more/],
        ["--control", "#{dir}/nobody.sock"] => [1, /no swarm answers at/],
        ["much"] => [64, /give NAME or --control, not both/] }
        .each do |arguments, (code, sentence)|
        err = StringIO.new
        at = ["--control", "#{dir}/victim.sock"] unless arguments.include?("--control")
        assert_equal code, Skep::CLI.start(["chaos", *at, *arguments], out: StringIO.new, err:)
        assert_match(/\Askep: .*#{sentence}/, err.string)
      end
    end
  end

  private

  def schedule(rates: { kill: 12.0 }, seconds: 60.0, seed: 1)
    Schedule.new(rates:, seconds:, recovery_timeout: 90.0, seed:)
  end

  def report(**facts)
    Report.new(swarm: "a", schedule:, seconds: 60.0, faults: [], skipped: {}, lost_events: 0,
               zombies: [], samples: [], not_ready: [], **facts)
  end

  def molds_of(supervisor)
    target = target_swarm([], supervisor:)
    target.molds
  ensure
    target.close
  end

  # A target with this status.
  def target_swarm(nodes, supervisor: Process.pid)
    status = { "name" => "victim", "nodes" => nodes, "pid" => supervisor }
    query = Struct.new(:events, :local_status).new(StringIO.new, status)
    Chaos::TargetSwarm.new(query, Random.new(1)).tap(&:connect)
  end

  # Runs chaos at these rates for 3 s, and returns its report and what it prints.
  def chaos(dir, **rates)
    rates = { kill: 0, stop: 0, mold: 0, storm: 0, **rates }
    out, err, status = skep(dir, "chaos", "--seconds", "3", "--seed", "5", "--json",
                            "--recovery-timeout", "20",
                            *rates.flat_map { |kind, rate| ["--#{kind}-rate", rate.to_s] })
    report = JSON.parse(out)
    assert_equal report["problems"].empty? ? 0 : 1, status.exitstatus, err
    [report, err]
  end

  def skep(dir, *arguments)
    run_command({ "SKEP_RUN_DIR" => dir }, RbConfig.ruby, "--disable=gems", SKEP, *arguments,
                timeout: 100)
  end

  # A swarm that runs while the block does.
  def with_swarm(env = {})
    Dir.mktmpdir do |dir|
      File.write("#{dir}/swarm.rb", SWARM)
      pid = spawn({ "SKEP_RUN_DIR" => dir, **env }, RbConfig.ruby, "--disable=gems", SKEP, "run",
                  "#{dir}/swarm.rb", out: "#{dir}/out", err: "#{dir}/out", pgroup: true)
      until_ready(dir, env["WORKS"] == "2" ? 7 : 3)
      yield dir
    ensure
      Process.kill(:TERM, pid)
      assert_equal 0, Process.wait2(pid).last.exitstatus
    end
  end

  def until_ready(dir, nodes)
    by = deadline(30)
    stream = follow("#{dir}/victim.sock", by)
    until ready?(dir, nodes)
      wait_readable(stream.to_io, seconds_until(by))
      stream.read
    end
  ensure
    stream&.close
  end

  # Retries until the control socket exists; no event reports that.
  def follow(path, by)
    Skep::Control::Client.new(path).events
  rescue Skep::Control::Unreachable
    raise if seconds_until(by).zero?

    IO.select(nil, nil, nil, 0.05)
    retry
  end

  def ready?(dir, count = 3)
    status = Skep::Control::Client.new("#{dir}/victim.sock").call("status")["status"]
    nodes, spares = status["nodes"].partition { |node| node["id"].is_a?(Integer) }
    nodes.size == count && nodes.all? { |node| node["state"] == "ready" } &&
      spares.all? { |node| node["state"] == "spare" }
  end
end
