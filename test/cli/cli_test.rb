# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "shellwords"
require "skep/cli"
require "skep/cli/manual"

class CliTest < Skep::TestCase
  test "lists its commands" do
    code, out, = skep("help")

    assert_equal 0, code
    Skep::CLI::COMMANDS.each_key { |name| assert_match(/^  #{name} /, out) }
  end

  test "helps with each command, and gives an example" do
    Skep::CLI::COMMANDS.each_key do |name|
      code, out, = skep(name, "--help")

      assert_equal [0, out], [code, skep("help", name)[1]]
      assert_match(/\Ausage: skep #{name}.*^    +-h, --help .*^examples:\n  .*skep #{name}/m, out)
    end
  end

  test "gives examples that are right" do
    Skep::CLI::Manual.entries.each do |entry|
      entry.examples.each do |line|
        words = Shellwords.split(line[/skep #{entry.name}([^|>&]*)/, 1])
        assert Skep::CLI.command(entry.name).new(words, out: nil, err: nil), line
      end
      flags = entry.usage.scan(/--[\w-]+/)
      assert_empty flags - entry.options.flat_map(&:names), entry.usage
    end
  end

  test "answers a wrong command line with one sentence and 64" do
    { %w[fly] => /there is no command "fly"/,
      %w[run] => /FILE is missing/,
      %w[run a.rb --nods 3] => /invalid option: --nods/,
      %w[run a.rb --nodes x] => /invalid argument: --nodes x/,
      %w[staus] => /no command "staus": did you mean status\?/,
      %w[help staus] => /did you mean status\?/,
      %w[completion tcsh] => /nothing for "tcsh", but for bash, zsh, fish/,
      %w[scale many] => /"many" is no number of nodes/,
      %w[restart --node x] => /invalid argument: --node x/,
      %w[demo --nodes 0] => /nodes/,
      %w[chaos --kill-rate x] => /invalid argument: --kill-rate x/,
      %w[bench fly] => /there is no bench "fly"/,
      %w[kafka lag] => /no cluster|GROUP is missing/,
      %w[kafka fly] => /no `skep kafka fly`/,
      %w[web --bind nowhere] => /is no address/,
      %w[doctor] => /FILE is missing/ }.each { |argv, sentence| refused(64, argv, sentence) }
  end

  test "answers what can't be done as things are with one sentence and 1" do
    { %w[status nobody] => /no swarm called nobody runs here/,
      %w[status --control /nowhere] => /no swarm answers at/,
      %w[stop nobody] => /no swarm called nobody runs here/,
      %w[top a b --once] => /no swarm called a runs here/ }.each do |argv, sentence|
      refused(1, argv, sentence)
    end
  end

  test "answers a wrong file with one sentence and 78" do
    [%w[check no/such.rb], %w[run --inline no/such.rb]].each do |argv|
      refused(78, argv, /there is no such file/)
    end
  end

  test "checks a file: all errors, all warnings" do
    code, _, err = check("Skep.swarm('a', nodes: 0, nope: 1, spares: 1, restart: :never) " \
                         "{ |one| one.work { } }")

    assert_equal 78, code
    assert_equal 3, err.lines.size
    assert_match(/warning: spares has no effect with restart :never/, err)
  end

  test "wonders about events that are nearly skep's" do
    code, _, err = check(<<~RUBY)
      Skep.swarm("a") do |one|
        %i[node_diedd node_died order_paid].each { |name| one.on(name) { } }
        one.work { }
      end
    RUBY

    assert_equal 0, code
    assert_equal 1, err.lines.size
    assert_match(/: on\(:node_diedd\): skep tells no such event: did you mean node_died\?/, err)
  end

  test "says which gem an option lacks" do
    Dir.mktmpdir do |directory|
      file = "#{directory}/swarm.rb"
      File.write(file, "Skep.swarm('a', metrics: '[::1]:0') { |one| one.work { } }")
      program = "require \"skep/cli\"; exit(Skep::CLI.start([\"check\", #{file.inspect}]))"
      _, err, status = run_program(program, env: { "RUBYOPT" => "--disable=gems" })
      assert_equal 78, status.exitstatus
      assert_match(/: metrics: it is served by the gem puma, which isn't there: add `gem/, err)
    end
  end

  test "says that a file is good" do
    code, out, = check("Skep.swarm('a', nodes: 3) { |swarm| swarm.work { } }")

    assert_equal 0, code
    assert_match(/swarm a, 3 nodes, good to run/, out)
  end

  private

  def refused(code, argv, sentence)
    ended, _, err = skep(*argv)
    assert_equal [code, 1], [ended, err.lines.size], "#{argv}: #{err}"
    assert_match(/\Askep: .*#{sentence}/, err)
  end

  def skep(*argv)
    out = StringIO.new
    err = StringIO.new
    [Skep::CLI.start(argv, out:, err:), out.string, err.string]
  end

  def check(text)
    Dir.mktmpdir do |directory|
      path = File.join(directory, "swarm.rb")
      File.write(path, text)
      skep("check", path)
    end
  end
end
