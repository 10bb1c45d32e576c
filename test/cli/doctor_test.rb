# frozen_string_literal: true

require "test_helper"
require "json"
require "socket"
require "tmpdir"
require "skep/cli"
require "skep/cli/doctor"

class DoctorTest < Skep::TestCase
  EXE = File.expand_path("../../exe/skep", __dir__)
  THREAD = 'Thread.new { Thread.stop }.name = "mailer"'
  NOTED = 'require "socket"; $udp = UDPSocket.new.tap { |udp| udp.connect("127.0.0.1", 9) }'
  private_constant :EXE, :THREAD, :NOTED

  test "tells what of a swarm file's preload and warm would break, as a table" do
    out, _, status = doctor(<<~RUBY)
      Skep.swarm "billing" do |swarm|
        swarm.preload { #{THREAD} }
        swarm.warm { require "socket"; $server = TCPServer.new("127.0.0.1", 0) }
        swarm.warm { $client = TCPSocket.new("127.0.0.1", $server.addr[1]) }
        swarm.work { |child| child.ready! }
      end
    RUBY
    assert_equal 1, status.exitstatus
    assert_match(/file\.rb: 2 would break in a child, 0 worth knowing$/, out)
    assert_match(/^severity  what +where +what to do$/, out)
    assert_match(/^breaks    the Ruby thread "mailer" +started at /, out)
    assert_match(/^breaks    a TCP socket connected/, out)
    assert_empty(out.lines.select { |line| line.chomp.size > 100 })
  end

  test "has nothing to say of a bare swarm, nor of a bare file" do
    bare = 'Skep.swarm("bare") { |swarm| swarm.work { |child| child.ready! } }'
    [bare, "", "exit"].each do |text|
      out, err, status = doctor(text)
      assert_equal ["", 0], [err, status.exitstatus]
      assert_match(/file\.rb: nothing found/, out)
    end
  end

  test "prints one line of JSON, whatever the file prints" do
    out, err, status = doctor("puts 'hello'; #{THREAD}; #{NOTED}", "--json")
    assert_equal [1, 1, "hello\n"], [status.exitstatus, out.lines.size, err]
    report = JSON.parse(out)
    assert_equal [1, nil], report.values_at("breaks", "swarm")
    assert_equal %w[ruby_thread datagram], report["findings"].map { |finding| finding["kind"] }
    assert_equal %w[advice kind severity what where], report["findings"].first.keys.sort
    assert_match(/file\.rb:1\z/, report["findings"].first["where"])
  end

  test "tells whatever the file has done to stdout" do
    ["$stdout.close", "$stdout = Object.new.tap { |it| def it.write(*) = 0 }"].each do |text|
      _, err, status = doctor("#{text}; #{THREAD}", "--json")
      assert_equal ["", 1], [err, status.exitstatus]
    end
  end

  test "has one sentence for an error that has no message" do
    _, err, status = doctor("class Mute < StandardError; def message = nil; end; raise Mute")
    assert_equal 1, status.exitstatus
    assert_match(/Mute while it was loaded, line 1: $/, err)
  end

  test "has one sentence for an error whose message is no text" do
    _, err, status = doctor('raise "\xFF\xFEno".b')
    assert_equal 1, status.exitstatus
    assert_match(/RuntimeError while it was loaded, line 1: .*no$/, err)
  end

  test "is content where there are only notes" do
    out, _, status = doctor(NOTED)
    assert_match(/ 0 would break in a child, 1 worth knowing$/, out)
    assert_equal 0, status.exitstatus
  end

  test "finds an epoll set, which the guard of a mold doesn't look for" do
    skip "it takes the C extension" unless Skep::OS.native?
    out, _, status = doctor("require 'fiddle'; $set = IO.for_fd(Fiddle::Function.new(" \
                            "Fiddle.dlopen(nil)['epoll_create1'], [Fiddle::TYPE_INT], " \
                            "Fiddle::TYPE_INT).call(0o2000000))")
    assert_equal 1, status.exitstatus
    assert_match(/^breaks +an epoll set \(0/, out)
  end

  test "hands arguments on to the file" do
    out, = doctor("Thread.new { Thread.stop }.name = ARGV.join", "--", "--left", "over")
    assert_match(/"--leftover"/, out)
  end

  { "raise 'no database'" => /RuntimeError while it was loaded, line 1: no database/,
    "a = (" => /line 1: syntax error/,
    "exit 3" => /it called exit\(3\)/,
    "exit! 4" => /its process ended by exit!/,
    "Process.kill(:KILL, $$)" => /its process ended by SIGKILL/,
    "Skep.swarm('a') { |s| s.preload { raise 'no cache' } }" => /RuntimeError in preload or warm/,
    "Skep.swarm('a') { }; Skep.swarm('b') { }" => /it describes 2 swarms/ }.each do |text, sentence|
    test "has one sentence for #{text}" do
      out, err, status = doctor(text)
      assert_equal ["", 1], [out, status.exitstatus]
      assert_match(/\Askep: \S+file\.rb: #{sentence}.*\n\z/, err)
    end
  end

  test "doesn't wait for ever, and leaves nothing of what the file started" do
    Dir.mktmpdir do |folder|
      fifo = "#{folder}/fifo".tap { |path| File.mkfifo(path) }
      witness = File.open(fifo, File::RDONLY | File::NONBLOCK)
      held = File.open(fifo, File::WRONLY) # a pipe that was never written to has no end
      text = "out = File.open('#{fifo}', 'w'); fork { Thread.stop }; IO.pipe[0].read; out"
      _, err, status = doctor(text, "--timeout", "2")
      assert_equal 1, status.exitstatus
      assert_match(/it wasn't done after 2\.0 s/, err)
      held.close
      assert_equal "", wait_readable(witness).read
      witness.close
    end
  end

  test "shows a process from outside: threads, sockets, locks, memory" do
    pid, reader = in_child do |writer|
      server = TCPServer.new("127.0.0.1", 0)
      client = TCPSocket.new("127.0.0.1", server.addr[1])
      lock = File.open(EXE).tap { |file| file.flock(File::LOCK_SH) }
      Thread.new { Thread.stop }.name = "night mailer"
      writer.puts(server.addr[1])
      [client, lock, IO.pipe[0].read]
    end
    port = wait_readable(reader).gets.to_i
    facts = JSON.parse(look(pid, "--json"))
    whats = facts["descriptors"].map { |one| one["what"] }
    assert_includes whats, "TCP listening at 127.0.0.1:#{port}"
    assert_includes whats, "TCP connected to 127.0.0.1:#{port}"
    assert_includes facts["locks"], { "type" => "FLOCK", "mode" => "read", "file" => EXE }
    assert_operator facts["memory"]["pss"], :>, 0
    text = look(pid)
    assert_match(/^\d+ +night mailer$/, text)
    assert_match(/^memory: rss .* MB, pss /, text)
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  test "knows a process of skep's" do
    pid, reader = in_child do |writer|
      Process.setproctitle("skep billing node 3")
      writer.puts("up") || IO.pipe[0].read
    end
    wait_readable(reader).gets
    assert JSON.parse(look(pid, "--json"))["skep"]
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  test "hides passwords of a process' command line" do
    pid, reader = in_child do |writer|
      Process.setproctitle("worker redis://me:hunter2@host")
      writer.puts("up") || IO.pipe[0].read
    end
    wait_readable(reader).gets
    assert_match(%r{redis://me:\[secret\]@host}, look(pid))
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  test "has one sentence for a process that can't be seen" do
    pid, = in_child { nil }
    Process.wait(pid)
    sentences = { pid => "there is no process #{pid}", -1 => "a pid is a positive number" }
    sentences.each do |number, what|
      out, err, status = run_program(EXE, ["doctor", "--pid", number])
      assert_equal ["", 1], [out, status.exitstatus]
      assert_match(/\Askep: #{what}.*\n\z/, err)
    end
  end

  test "has one sentence for a zombie, and for another user's process" do
    skip "a fallback's pidfd reaps what it sees ended" unless Skep::OS::Pidfd.native?
    pid, reader = in_child { nil }
    assert_equal "", wait_readable(reader).read
    Skep.pidfd(pid).tap { |pidfd| wait_readable(pidfd.to_io) }.close
    _, err, = run_program(EXE, ["doctor", "--pid", pid])
    assert_match(/\Askep: process #{pid} has ended, and waits/, err)
    Process.wait(pid)
    assert_match(/another user's/, as_nobody) if Process.uid.zero?
  end

  private

  def doctor(text, *options)
    Dir.mktmpdir do |folder|
      file = "#{folder}/file.rb"
      File.write(file, text)
      run_program(EXE, ["doctor", file, *options])
    end
  end

  def look(pid, *options)
    out, err, status = run_program(EXE, ["doctor", "--pid", pid, *options])
    assert_equal ["", 0], [err, status.exitstatus]
    out
  end

  # What a process without rights gets to hear of this one.
  def as_nobody
    pid, reader = in_child do |writer|
      parent = Process.ppid
      Process::Sys.setuid(65_534)
      Skep::CLI.start(["doctor", "--pid", parent.to_s], out: writer, err: writer)
    end
    wait_readable(reader).read.tap { Process.wait(pid) }
  end
end
