# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "skep/cli"

class CliTest < Skep::TestCase
  test "lists its commands" do
    code, out, = skep("help")

    assert_equal 0, code
    Skep::CLI::COMMANDS.each_key { |name| assert_match(/^  #{name} /, out) }
  end

  test "helps with each command" do
    Skep::CLI::COMMANDS.each_key do |name|
      code, out, = skep(name, "--help")

      assert_equal 0, code
      assert_match(/\Ausage: skep #{name}/, out)
    end
  end

  test "answers a mistake with one sentence and 1" do
    { %w[fly] => /there is no command "fly"/,
      %w[run] => /FILE is missing/,
      %w[run a.rb --nods 3] => /invalid option: --nods/,
      %w[run a.rb --nodes x] => /invalid argument: --nodes x/,
      %w[status nobody] => /no swarm answers at/,
      %w[check no/such.rb] => /there is no such file/ }.each do |argv, sentence|
      code, _, err = skep(*argv)

      assert_equal [1, 1], [code, err.lines.size], err
      assert_match(/\Askep: .*#{sentence}/, err)
    end
  end

  test "checks a file: all errors, all warnings" do
    code, _, err = check("Skep.swarm('a', nodes: 0, nope: 1, metrics: 'x') { |one| one.work { } }")

    assert_equal 1, code
    assert_equal 3, err.lines.size
    assert_match(/warning: metrics has no effect yet/, err)
  end

  test "says that a file is good" do
    code, out, = check("Skep.swarm('a', nodes: 3) { |swarm| swarm.work { } }")

    assert_equal 0, code
    assert_match(/swarm a, 3 nodes, good to run/, out)
  end

  private

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
