# frozen_string_literal: true

require "test_helper"
require "json"
require "socket"
require "stringio"
require "tmpdir"
require "skep/cli"
require "skep/cli/commands/doctor"

class DoctorTest < Skep::TestCase
  EXE = File.expand_path("../../exe/skep", __dir__)
  THREAD = 'Thread.new { Thread.stop }.name = "mailer"'
  NOTED = 'require "socket"; $udp = UDPSocket.new.tap { |udp| udp.connect("127.0.0.1", 9) }'
  private_constant :EXE, :THREAD, :NOTED

  test "a swarm file's findings in preload and warm are a table, and end it with 1" do
    out, _, status = doctor(<<~RUBY)
      Skep.swarm "billing" do |swarm|
        swarm.preload { #{THREAD} }
        swarm.warm { require "socket"; $server = TCPServer.new("127.0.0.1", 0) }
        swarm.warm { $client = TCPSocket.new("127.0.0.1", $server.addr[1]) }
        swarm.work { |node| node.ready! }
      end
    RUBY
    assert_equal 1, status.exitstatus
    assert_match(/file\.rb: 2 would break in a child, 0 to note$/, out)
    assert_match(/^severity  what +where +what to do$/, out)
    assert_match(/^breaks    the Ruby thread "mailer" +started at /, out)
    assert_match(/^breaks    a TCP socket connected/, out)
    assert_empty(out.lines.select { |line| line.chomp.size > 100 })
  end

  test "a bare swarm and a bare file have no findings, and end it with 0" do
    bare = 'Skep.swarm("bare") { |swarm| swarm.work { |node| node.ready! } }'
    [bare, "", "exit"].each do |text|
      out, err, status = doctor(text)
      assert_equal ["", 0], [err, status.exitstatus]
      assert_match(/file\.rb: nothing found/, out)
    end
  end

  test "--json prints one line on stdout, and the file's output goes to stderr" do
    out, err, status = doctor("puts 'hello'; #{THREAD}; #{NOTED}", "--json")
    assert_equal [1, 1, "hello\n"], [status.exitstatus, out.lines.size, err]
    report = JSON.parse(out)
    assert_equal [1, nil], report.values_at("breaks", "swarm")
    assert_equal %w[ruby_thread datagram], report["findings"].map { |finding| finding["kind"] }
    assert_equal %w[advice kind severity what where], report["findings"].first.keys.sort
    assert_match(/file\.rb:1\z/, report["findings"].first["where"])
  end

  test "a file that closes or replaces stdout is reported on" do
    ["$stdout.close", "$stdout = Object.new.tap { |it| def it.write(*) = 0 }"].each do |text|
      _, err, status = doctor("#{text}; #{THREAD}", "--json")
      assert_equal ["", 1], [err, status.exitstatus]
    end
  end

  test "an error without a message gets one sentence" do
    _, err, status = doctor("class Mute < StandardError; def message = nil; end; raise Mute")
    assert_equal 1, status.exitstatus
    assert_match(/Mute while it was loaded, line 1: $/, err)
  end

  test "an error whose message is no text gets one sentence" do
    _, err, status = doctor('raise "\xFF\xFEno".b')
    assert_equal 1, status.exitstatus
    assert_match(/RuntimeError while it was loaded, line 1: .*no$/, err)
  end

  test "notes alone end it with 0" do
    out, _, status = doctor(NOTED)
    assert_match(/ 0 would break in a child, 1 to note$/, out)
    assert_equal 0, status.exitstatus
  end

  test "finds an epoll set, which a mold's guard doesn't look for" do
    skip "it needs the C extension" unless Skep::OS.native?
    out, _, status = doctor("require 'fiddle'; $set = IO.for_fd(Fiddle::Function.new(" \
                            "Fiddle.dlopen(nil)['epoll_create1'], [Fiddle::TYPE_INT], " \
                            "Fiddle::TYPE_INT).call(0o2000000))")
    assert_equal 1, status.exitstatus
    assert_match(/^breaks +an epoll set \(0/, out)
  end

  test "arguments after -- are the file's" do
    out, = doctor("Thread.new { Thread.stop }.name = ARGV.join", "--", "--left", "over")
    assert_match(/"--leftover"/, out)
  end

  { "raise 'no database'" => /RuntimeError while it was loaded, line 1: no database/,
    "exit! 4" => /its process ended by exit!/,
    "Process.kill(:KILL, $$)" => /its process ended by SIGKILL/,
    "Skep.swarm('a') { |s| s.work { }; s.preload { raise 'no cache' } }" =>
      /RuntimeError in preload or warm/ }.each do |text, sentence|
    test "#{text} gets one sentence and 1" do
      assert_refused(1, sentence, text)
    end
  end

  { "call(" => /line 1: syntax error/,
    "exit 3" => /it called exit\(3\)/,
    "Skep.swarm('a') { }; Skep.swarm('b') { }" => /it describes 2 swarms/,
    "Skep.swarm('a') { }" => /swarm a has no work/,
    "Skep.swarm('a', nodes: 0) { |s| s.work { } }" => /nodes must be a whole number from 1 /,
    "Skep.swarm('a', nods: 1, chaos: 3) { |s| s.work { } }" =>
      /unknown option: nods \(did you mean nodes\?\); chaos must be true or false/ }
    .each do |text, sentence|
    test "#{text} gets one sentence and 78, the code of `skep check`" do
      assert_refused(78, sentence, text)
      assert_equal 78, check(text)
    end
  end

  test "a file that doesn't finish is killed at --timeout, with the processes that it started" do
    Dir.mktmpdir do |folder|
      fifo = "#{folder}/fifo".tap { |path| File.mkfifo(path) }
      witness = File.open(fifo, File::RDONLY | File::NONBLOCK)
      held = File.open(fifo, File::WRONLY) # a pipe that was never written to has no end
      text = "out = File.open('#{fifo}', 'w'); fork { Thread.stop }; IO.pipe[0].read; out"
      _, err, status = doctor(text, "--timeout", "2")
      assert_equal 1, status.exitstatus
      assert_match(/it was still loading after 2\.0 s/, err)
      held.close
      assert_equal "", wait_readable(witness).read
      witness.close
    end
  end

  private

  def assert_refused(code, sentence, text)
    out, err, status = doctor(text)
    assert_equal ["", code], [out, status.exitstatus]
    assert_match(/\Askep: \S+file\.rb: #{sentence}.*\n\z/, err)
  end

  def doctor(text, *options)
    written(text) { |file| run_program(EXE, ["doctor", file, *options]) }
  end

  def check(text)
    written(text) { |file| Skep::CLI.start(["check", file], out: StringIO.new, err: StringIO.new) }
  end

  def written(text)
    Dir.mktmpdir do |folder|
      file = "#{folder}/file.rb"
      File.write(file, text)
      yield file
    end
  end
end
