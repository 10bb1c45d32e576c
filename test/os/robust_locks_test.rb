# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "holders"

# A lock that ends with its holder, however that ends.
class RobustLocksTest < Skep::TestCase
  include Holders

  ROUNDS = Integer(ENV.fetch("ROUNDS", "1000"))
  WAYS = {
    "SIGKILL" => -> { Process.kill(:KILL, Process.pid) && IO.select(nil) },
    "SIGSEGV" => lambda {
      Process.setrlimit(:CORE, 0)
      $stderr.reopen(File::NULL)
      Process.kill(:SEGV, Process.pid) && IO.select(nil)
    },
    "SIGABRT" => lambda {
      Process.setrlimit(:CORE, 0)
      Process.kill(:ABRT, Process.pid) && IO.select(nil)
    },
    "SIGTERM" => -> { trap(:TERM, "SYSTEM_DEFAULT") && Process.kill(:TERM, Process.pid) },
    "exit!" => -> { exit!(7) },
    "its return" => -> {},
    "exec" => -> { exec("true") }
  }.freeze
  private_constant :ROUNDS, :WAYS

  WAYS.each do |way, ending|
    test "is told of an end by #{way}" do
      @locks.open(1)
      pid, = holder(1, &ending)
      assert_equal 1, @locks.await_death([0, 1, 2], 20)
      assert_equal [true, nil], [@locks.dead?(1), @locks.holder(1)]
      Process.wait(pid)
    end
  end

  test "is told of each of a thousand ends" do
    ways = WAYS.values_at("SIGKILL", "SIGABRT", "exit!", "its return", "exec")
    ROUNDS.times do |round|
      @locks.open(round % 4)
      pid, reader = holder(round % 4, &ways[round % ways.size])
      assert_equal round % 4, @locks.await_death([0, 1, 2, 3], 20)
      assert @locks.claim(round % 4, round)
      assert_equal round, @locks.close(round % 4)
      Process.wait(pid)
      readers.delete(reader).close
    end
  end

  test "tells of the end of a program that execs another" do
    gate, release = IO.pipe
    @locks.open(0)
    pid, = holder(0) { exec("cat", in: gate) }
    assert_equal 0, @locks.await_death([0], 20)
    assert_nil Process.wait(pid, Process::WNOHANG)
    [release, gate].each(&:close)
    Process.wait(pid)
  end

  test "is told of a normal end, at_exit and finalizers included" do
    @locks.open(0)
    source = [Process.pid, @page.to_io.fileno]
    _, err, status = run_program(<<~RUBY, source)
      require "skep/os"
      page = Skep::OS::SharedPage.open(File.open("/proc/\#{ARGV[0]}/fd/\#{ARGV[1]}", "r+"), 4)
      Skep::OS::RobustLocks.new(page).hold(0)
      page.close if ARGV[2]
    RUBY
    assert_equal ["", true], [err, status.success?]
    assert @locks.dead?(0)
  end

  test "knows who holds it, and lets nobody else" do
    pid, reader, release = waiting_holder(2)
    assert_equal [pid, false, false], [@locks.holder(2), @locks.dead?(2), @locks.hold(2)]
    assert_equal false, @locks.let_go(2)
    release.close
    Process.wait(pid)
    assert reader.eof?
    assert in_turn { @locks.hold(2) && @locks.holder(2) == Process.pid }
  end

  test "is no dead's when it was let go" do
    assert in_turn { @locks.hold(0) && @locks.hold(0) && @locks.let_go(0) && !@locks.let_go(0) }
    assert_equal [false, nil, false], [@locks.dead?(0), @locks.holder(0), @locks.claim(0, 1)]
  end

  test "isn't ended by the end of what its holder forked, nor by a stop" do
    @locks.open(0)
    pid, = holder(0) do
      Process.wait(fork { exit! })
      Process.wait(fork { exec("true") })
      Process.kill(:STOP, Process.pid)
    end
    Process.wait(pid, Process::WUNTRACED)
    assert_equal [pid, nil], [@locks.holder(0), @locks.await_death([0], 0)]
    Process.kill(:KILL, pid)
    assert_equal 0, @locks.await_death([0], 20)
    Process.wait(pid)
  end

  test "is held by a process' first thread alone" do
    thread = Thread.new { @locks.hold(0) }
    thread.report_on_exception = false
    assert_match(/first thread/, assert_raises(ThreadError) { thread.value }.message)
  end

  test "can be held again by the one after the dead, and tells of that one, too" do
    3.times do |round|
      @locks.open(3)
      pid, = holder(3, &WAYS["SIGKILL"])
      assert_equal 3, @locks.await_death([3], 20)
      assert @locks.claim(3, round)
      Process.wait(pid)
    end
  end

  test "refuses what it hasn't" do
    bare = Skep::OS::SharedPage.create(1)
    assert_match(/prepared/, assert_raises(ArgumentError) { RobustLocks.new(bare).hold(0) }.message)
    bare.close
    assert_raises(Skep::OS::SharedPage::Closed) { RobustLocks.new(bare).dead?(0) }
    assert_raises(IndexError) { @locks.hold(4) }
    assert_raises(ArgumentError) { @locks.claim(0, 2**30) }
    assert_raises(ArgumentError) { @locks.await_death([0] * (RobustLocks::MOST + 1), 0) }
    assert_nil @locks.await_death([0, 1, 2, 3] * (RobustLocks::MOST / 4), 0)
  end

  test "begins anew where one died without a word" do
    in_turn { @locks.hold(0) && @page.set(0, 8, Process.pid | (1 << 31)) } # as if never released
    @page.set(0, 8, @page.get(0, 8) & 0xffffffff)
    @locks.prepare(0)
    assert in_turn { @locks.hold(0) }
  end
end
