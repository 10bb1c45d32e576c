# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ProcessStateTest < Skep::TestCase
  ProcessState = Skep::OS::ProcessState
  WAIT = /\A(?:read\(\d+\) pipe:|p?poll|restart_syscall)/ # the last after a stop
  BEFORE_WAIT = /running|futex/ # a lock of Ruby's own
  private_constant :ProcessState, :WAIT, :BEFORE_WAIT

  def setup
    skip "there is no /proc" unless File.exist?("/proc/self/task")
    super
  end

  test "cpu_seconds never decreases" do
    before = ProcessState.cpu_seconds(Process.pid)
    assert_operator before, :>, 0
    assert_operator ProcessState.cpu_seconds(Process.pid), :>=, before
  end

  test "returns the state of a process, and the system call it waits in" do
    with_child do |pid, state|
      assert_equal ["sleeping", pid], [state.state, state.tasks.first.tid]
      assert_match WAIT, state.tasks.first.syscall
      assert_operator state.rss, :>, 1_000_000
      refute_predicate state, :stopped?
    end
  end

  test "returns stopped for a stopped process" do
    with_child do |pid|
      Process.kill(:STOP, pid)
      Process.wait(pid, Process::WUNTRACED)
      state = ProcessState.of(pid)
      assert_equal ["stopped", true, nil], [state.state, state.stopped?, state.tracer]
    end
  end

  test "returns the name of every thread" do
    with_child(thread: "skep.side") do |pid|
      state = ProcessState.of(pid)
      assert_equal state.threads, state.tasks.size
      assert_includes state.tasks.map(&:name), "skep.side"
    end
  end

  test "accepts a thread name that the kernel cut within a character" do
    with_child(thread: "skep.eine größe") do |pid|
      assert_includes ProcessState.of(pid).tasks.map(&:name), "skep.eine grö\u{fffd}"
    end
  end

  test "a process' line is read, whatever bytes its name has" do
    line = "42 (a) Z (\xff) S 7 #{"0 " * 9}150 50 #{"0 " * 6}99 #{"0 " * 29}256\n"
    stat = ProcessState::Stat.parse(line)
    hertz = Etc.sysconf(Etc::SC_CLK_TCK)
    assert_equal ["a) Z (\u{fffd}", "S", 7, 200.fdiv(hertz), 99, 256], stat.to_a
    assert_nil ProcessState::Stat.of("/proc/#{2**22 + 1}/stat")
  end

  test "to_plain returns plain data without nil" do
    plain = ProcessState.of(Process.pid).to_plain
    assert_equal "running", plain[:state]
    assert_equal Process.pid, plain[:tasks].first[:tid]
    refute plain.key?(:tracer)
  end

  test "returns nil for a process that has ended" do
    pid = fork { exit! }
    Process.wait(pid)
    assert_nil ProcessState.of(pid)
  end

  private

  # A child that waits until it is killed.
  def with_child(thread: nil)
    pid, reader = in_child { |writer| wait_for_ever(thread, writer) }
    wait_readable(reader).gets
    yield pid, asleep(pid)
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  def wait_for_ever(thread, writer)
    named(thread) if thread
    writer.puts "there"
    IO.pipe.first.read
  end

  # Starts a thread, and returns once it has its name.
  def named(name)
    names = Queue.new
    Thread.new do
      names << (Thread.current.name = name)
      Thread.stop
    end
    names.pop
  end

  # Returns the state once the child waits. It polls: the kernel doesn't notify that a thread
  # sleeps. The thread may also sleep before its wait, for a lock.
  def asleep(pid)
    by = deadline(10)
    until asleep?(state = ProcessState.of(pid))
      flunk "the child isn't waiting" if seconds_until(by).zero?
      IO.select(nil, nil, nil, 0.01)
    end
    state
  end

  def asleep?(state)
    state.state == "sleeping" && !BEFORE_WAIT.match?(state.tasks.first.syscall)
  end
end
