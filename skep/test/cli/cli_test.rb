# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "shellwords"
require "skep/cli"
require_relative "../../../rakelib/command_reference"

class CliTest < Skep::TestCase
  test "help lists every command in a group, each with an imperative sentence" do
    code, out, = skep("help")

    assert_equal 0, code
    Skep::CLI.groups.each do |group, names|
      section = out[/^#{group}:\n((?:  .*\n)+)/, 1].to_s
      assert_equal names, section.scan(/^  (\w+)/).flatten
    end
  end

  test "help of a command shows its usage, options and examples" do
    Skep::CLI.commands.each do |name|
      code, out, = skep(name, "--help")

      assert_equal [0, out], [code, skep("help", name)[1]]
      assert_match(/\Ausage: skep #{name}.*^    +-h, --help .*^examples:\n  .*skep #{name}/m, out)
    end
  end

  test "every example and every option of a usage line is accepted by its command" do
    CommandReference.entries.each do |entry|
      entry.examples.each do |line|
        words = Shellwords.split(line[/skep #{entry.name}([^|>&]*)/, 1])
        assert Skep::CLI.command(entry.name).new(words, out: nil, err: nil), line
      end
      flags = entry.usage.scan(/--[\w-]+/)
      assert_empty flags - entry.options.flat_map(&:names), entry.usage
    end
  end

  test "a wrong command line gets one sentence and 64" do
    { %w[fly] => /unknown command: fly/,
      %w[staus] => /unknown command: staus: did you mean status\?/,
      %w[help staus] => /did you mean status\?/,
      %w[run a.rb --nods 3] => /invalid option: --nods/,
      %w[run a.rb --work web] => /--work needs --inline: usage: skep run/,
      %w[run a.rb --nodes x] => /invalid argument: --nodes x/,
      %w[run a.rb --pidfile] => /missing argument: --pidfile/,
      %w[check a.rb b.rb] => /unexpected argument: b.rb: usage: skep check/,
      %w[doctor a.rb --timeout x] => /invalid argument: --timeout x/,
      %w[status --control /a b] => /give NAME or --control, not both: usage: skep status/,
      %w[top a --control /a] => /give NAME or --control, not both: usage: skep top/,
      %w[stop a --control /a] => /give NAME or --control, not both: usage: skep stop/,
      %w[scale a 2 --control /a] => /give NAME or --control, not both: usage: skep scale/,
      %w[chaos a --control /a] => /give NAME or --control, not both: usage: skep chaos/,
      %w[top a/b] => %r{invalid name "a/b": use letters, digits, dots and dashes},
      %w[restart --node x] => /invalid argument: --node x/,
      %w[reload --node 3] => /invalid option: --node/,
      %w[scale] => /missing argument: N: usage: skep scale \[NAME\] N/,
      %w[scale many] => /N must be a whole number, 1 or more \(got many\)/,
      %w[scale a orders=many] => /N must be a whole number, 1 or more \(got many\)/,
      %w[scale web=1 web=2] => /web is given twice: usage: skep scale/,
      %w[scale web=1 web=2 jobs=1 web=3] => /web is given twice: usage: skep scale/,
      %w[restart --node 1 --work web] => /give --node or --work, not both/,
      %w[events --since 10x] => /--since takes a time such as 30s, 10m or 2h, not 10x/,
      %w[events --since -1s] => /--since takes a time such as 30s, 10m or 2h, not -1s/,
      %w[events --level wary] => /--level takes debug, info, warn or error, not wary/,
      %w[quiet --no-wait] => /invalid option: --no-wait/,
      %w[stop ../a] => %r{invalid name "../a"},
      %w[chaos --kill-rate x] => /invalid argument: --kill-rate x/,
      %w[../cli] => %r{unknown command: ../cli} }
      .each { |argv, sentence| assert_refused(64, argv, sentence) }
  end

  test "output that can't be written gets one sentence and 1, unless its reader has ended" do
    skip "there is no /dev/full" unless File.exist?("/dev/full")
    File.open("/dev/full", "w") do |full|
      err = StringIO.new
      assert_equal 1, Skep::CLI.start(["version"], out: full, err:)
      assert_match(/\Askep: can't write: No space left on device.*\n\z/, err.string)
    ensure
      begin
        full.close
      rescue Errno::ENOSPC # what is left of the output
        nil
      end
    end
    reader, writer = IO.pipe
    reader.close
    writer.sync = false # as stdout
    err = StringIO.new
    assert_equal 0, Skep::CLI.start(["version"], out: writer, err:)
    assert_empty err.string
  end

  test "a command for a swarm that isn't there gets one sentence and 1" do
    { %w[status nobody] => /no swarm called nobody runs in/,
      %w[status --control /nowhere] => /no swarm answers at/,
      %w[stop nobody] => /no swarm called nobody runs in/,
      %w[top a b --once] => /no swarm called a runs in/ }.each do |argv, sentence|
      assert_refused(1, argv, sentence)
    end
  end

  test "a command that finds no swarm reports the run directory and how to name another" do
    Dir.mktmpdir do |directory|
      advice = "set SKEP_RUN_DIR or use --control if it uses another one"
      { %w[status billing] => "no swarm called billing runs in #{directory}: #{advice}",
        %w[status] => "no swarm runs in #{directory}: #{advice}" }.each do |argv, sentence|
        _, err, status = run_program("require \"skep/cli\"; exit(Skep::CLI.start(#{argv}))",
                                     env: { "SKEP_RUN_DIR" => directory })
        assert_equal ["skep: #{sentence}\n", 1], [err, status.exitstatus]
      end
    end
  end

  test "a file that isn't there gets one sentence and 78" do
    [%w[check no/such.rb], %w[run --inline no/such.rb], %w[doctor no/such.rb]].each do |argv|
      assert_refused(78, argv, /there is no such file/)
    end
  end

  test "without FILE a command takes config/skep.rb, then swarm.rb, and needs one of them" do
    inside("swarm.rb" => swarm("a")) { assert_match(/\Aswarm\.rb: swarm a/, skep("check")[1]) }
    inside("swarm.rb" => swarm("a"), "config/skep.rb" => swarm("b")) do
      assert_match(%r{\Aconfig/skep\.rb: swarm b}, skep("check")[1])
    end
    inside({}) do
      [%w[run], %w[check], %w[doctor], %w[run -- a b]].each do |argv|
        assert_refused(64, argv, %r{missing argument: FILE: there is no config/skep.rb or swarm.rb})
      end
    end
  end

  test "check prints all errors and warnings, and ends with 78" do
    code, _, err = check("Skep.swarm('a', nodes: 0, nope: 1, spares: 1, restart: :never) " \
                         "{ |one| one.work { } }")

    assert_equal 78, code
    assert_equal 3, err.lines.size
    assert_match(/warning: spares has no effect with restart :never/, err)
  end

  test "check warns of an event whose name is nearly skep's" do
    code, _, err = check(<<~RUBY)
      Skep.swarm("a") do |one|
        %i[node_diedd node_died order_paid].each { |name| one.on(name) { } }
        one.work { }
      end
    RUBY

    assert_equal 0, code
    assert_equal 1, err.lines.size
    assert_match(/: on\(:node_diedd\): skep publishes no such event: did you mean node_died\?/, err)
  end

  test "check warns of a variable whose name is nearly an option's" do
    Dir.mktmpdir do |directory|
      file = "#{directory}/swarm.rb"
      File.write(file, "Skep.swarm('a') { |one| one.work { } }")
      env = { "SKEP_STOPTIMEOUT" => "3", "SKEP_STOP_TIMEOUT" => "3", "SKEP_RUNDIR" => "/run",
              "SKEP_NODE_ID" => "1", "SKEP_PASSWORD" => "x", "SKEP_NODE" => "" }
      _, err, status = run_program("require \"skep/cli\"; exit(Skep::CLI.start([\"check\", " \
                                   "#{file.inspect}]))", env:)
      warnings = { "SKEP_STOPTIMEOUT" => "SKEP_STOP_TIMEOUT", "SKEP_RUNDIR" => "SKEP_RUN_DIR" }
      expected = warnings.map do |name, near|
        "skep: #{file}: warning: #{name} in the environment has no effect: did you mean #{near}?\n"
      end
      assert_equal [expected.sort, 0], [err.lines.sort, status.exitstatus]
    end
  end

  test "check names the gem that an option needs" do
    Dir.mktmpdir do |directory|
      file = "#{directory}/swarm.rb"
      File.write(file, "Skep.swarm('a', metrics: '[::1]:0') { |one| one.work { } }")
      program = "require \"skep/cli\"; exit(Skep::CLI.start([\"check\", #{file.inspect}]))"
      _, err, status = run_program(program, env: { "RUBYOPT" => "--disable=gems" })
      assert_equal 78, status.exitstatus
      assert_match(/: metrics need the gem puma, 6 or newer, and there is no puma: add `gem/, err)
    end
  end

  test "check of a file without errors ends with 0" do
    code, out, = check("Skep.swarm('a', nodes: 3) { |swarm| swarm.work { } }")

    assert_equal 0, code
    assert_match(/swarm a, 3 nodes, good to run/, out)
  end

  test "check suggests the option that a misspelt one was meant to be" do
    code, _, err = check("Skep.swarm('a', node: 1) { |swarm| swarm.work { nil } }")
    assert_equal 78, code
    assert_match(/unknown option: node \(did you mean nodes\?\)/, err)
  end

  test "check shows each work that has a name or options" do
    _, out, = check("Skep.swarm('a', nodes: 2) { |swarm| " \
                    "swarm.work('web', nodes: 1, memory_limit: '1G', liveness_timeout: nil, " \
                    "restart: :never, never_restart_on: [3, 4]) { }; swarm.work { } }")
    assert_equal "swarm.rb: swarm a, 3 nodes, good to run\n" \
                 "  work web: 1 node, memory_limit 1.0G, liveness_timeout none, restart never, " \
                 "never_restart_on 3 4\n  work work: 2 nodes\n", out
  end

  test "check counts one node as a node" do
    _, out, = check("Skep.swarm('a', nodes: 1) { |swarm| swarm.work { } }")

    assert_match(/swarm a, 1 node, good to run/, out)
  end

  private

  def assert_refused(code, argv, sentence)
    ended, _, err = skep(*argv)
    assert_equal [code, 1], [ended, err.lines.size], "#{argv}: #{err}"
    assert_match(/\Askep: .*#{sentence}/, err)
  end

  def skep(*argv)
    out = StringIO.new
    err = StringIO.new
    [Skep::CLI.start(argv, out:, err:), out.string, err.string]
  end

  def swarm(name) = "Skep.swarm(#{name.inspect}) { |swarm| swarm.work { } }"

  def check(text) = inside("swarm.rb" => text) { skep("check", "swarm.rb") }

  # Runs the block in a folder with these files.
  def inside(files)
    Dir.mktmpdir do |directory|
      files.each do |path, text|
        FileUtils.mkdir_p(File.dirname("#{directory}/#{path}"))
        File.write("#{directory}/#{path}", text)
      end
      Dir.chdir(directory) { return yield }
    end
  end
end
