# frozen_string_literal: true

require "test_helper"
require "json"
require "stringio"
require "tmpdir"
require_relative "../../examples/demo/command"

# `bin/demo` as a whole, with the embedded broker.
class DemoTest < Skep::TestCase
  PROGRAM = File.expand_path("../../examples/demo/command.rb", __dir__)
  LOAD_PATH = File.expand_path("../../load_path", __dir__)
  private_constant :PROGRAM, :LOAD_PATH

  test "a wrong command line is reported in a sentence, and nothing is started" do
    { %w[--nodes 0] => /--nodes must be between 1 and 1000 \(got 0\)/,
      %w[--kills -1] => /--kills must be between 0/,
      %w[--messages x] => /invalid argument: --messages x/,
      %w[more] => /unexpected argument: more/,
      %w[--brokers
here] => /--brokers must be HOST:PORT \(got here\)/ }.each do |arguments, sentence|
      out, err = StringIO.new, StringIO.new
      assert_equal 64, Skep::Demo::Command.start(arguments, out:, err:)
      assert_match sentence, err.string
      assert_equal [1, ""], [err.string.lines.size, out.string]
    end
  end

  test "a broker that is not there is reported in a sentence, and nothing is left" do
    out, err, status = demo("--brokers", "127.0.0.1:1", "--json")
    assert_match(/\Ademo: no broker answers at 127.0.0.1:1 \(connection refused\): start it/, err)
    assert_equal ["", 1, 1], [out, err.lines.size, status.exitstatus]
  end

  test "kills nodes, loses no message, and prints its result as one line of JSON" do
    out, account, status = kept("--messages", "2000", "--nodes", "2", "--kills", "2", "--json")
    assert_equal [0, 1], [status.exitstatus, out.lines.size], account
    result = JSON.parse(out)
    certain = { "produced" => 2000, "processed" => 2000, "lost" => 0, "kills" => 2, "restarts" => 2,
                "nodes" => 2, "partitions" => 8, "brokers" => "embedded", "skep" => Skep::VERSION }
    assert_equal certain, result.slice(*certain.keys)
    %w[recovery_ms messages_per_second seconds].each { |key| assert_operator result[key], :>, 0 }
    assert_operator result.fetch("duplicates"), :>=, 0
  end

  test "prints its progress, and stops in order on SIGTERM" do
    Dir.mktmpdir do |folder|
      out, writer = IO.pipe
      pid = spawn({ "TMPDIR" => folder }, RbConfig.ruby, "-r", LOAD_PATH, PROGRAM, "--kills", "0",
                  "--nodes", "2", "--messages", "20000", out: writer, err: writer)
      writer.close
      text = read_until(out, /working|left$/)
      Process.kill(:TERM, pid)
      text << out.read
      assert_equal 1, Process.wait2(pid).last.exitstatus
      assert_match(/^2 nodes handle 20,000 messages .*No node is killed/m, text)
      assert_match(/^demo: stopped by SIGTERM before its end$/, text)
      assert_empty Dir.children(folder)
    ensure
      out&.close
    end
  end

  private

  # A whole run, in a folder for temporary files that must be empty after it.
  def demo(*arguments)
    Dir.mktmpdir do |folder|
      run_program(PROGRAM, arguments, env: { "TMPDIR" => folder }, gems: true, timeout: 90)
        .tap { assert_empty Dir.children(folder) }
    end
  end

  # The same, but returns all that is known about the run: its output and its swarm's log.
  def kept(*arguments)
    Dir.mktmpdir do |folder|
      out, err, status = run_program(PROGRAM, [*arguments, "--keep"],
                                     env: { "TMPDIR" => folder }, gems: true, timeout: 90)
      files = Dir.glob("#{folder}/*/{stderr,log}").map { |path| File.read(path) }
      assert_match(/\Ademo: ledgers and log are in .*\n\z/, err, [out, *files].join("\n"))
      [out, [out, err, *files].join("\n"), status]
    end
  end

  def read_until(io, pattern)
    text = +""
    text << wait_readable(io, 30).readpartial(4096) until text.match?(pattern)
    text
  end
end
