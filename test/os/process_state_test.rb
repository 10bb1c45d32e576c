# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ProcessStateTest < Skep::TestCase
  ProcessState = Skep::OS::ProcessState
  WAIT = /\A(?:read\(\d+\) pipe:|p?poll|restart_syscall)/ # the last after a stop
  WAY = /running|futex/ # for a lock of Ruby's own
  private_constant :ProcessState, :WAIT, :WAY

  def setup
    skip "there is no /proc" unless File.exist?("/proc/self/task")
    super
  end

  test "cpu_seconds of this process only grows" do
    before = ProcessState.cpu_seconds(Process.pid)
    assert_operator before, :>, 0
    assert_operator ProcessState.cpu_seconds(Process.pid), :>=, before
  end

  test "tells what a process waits for" do
    with_child do |pid, state|
      assert_equal ["sleeping", pid], [state.state, state.tasks.first.tid]
      assert_match WAIT, state.tasks.first.syscall
      assert_operator state.rss, :>, 1_000_000
      refute_predicate state, :stopped?
    end
  end

  test "calls a stopped process stopped" do
    with_child do |pid|
      Process.kill(:STOP, pid)
      Process.wait(pid, Process::WUNTRACED)
      state = ProcessState.of(pid)
      assert_equal ["stopped", true, nil], [state.state, state.stopped?, state.tracer]
    end
  end

  test "names every thread" do
    with_child(thread: "skep.side") do |pid|
      state = ProcessState.of(pid)
      assert_equal state.threads, state.tasks.size
      assert_includes state.tasks.map(&:name), "skep.side"
    end
  end

  test "reads a name that the kernel cut within a character" do
    with_child(thread: "skep.eine größe") do |pid|
      assert_includes ProcessState.of(pid).tasks.map(&:name), "skep.eine grö\u{fffd}"
    end
  end

  test "is plain data" do
    plain = ProcessState.of(Process.pid).to_plain
    assert_equal "running", plain[:state]
    assert_equal Process.pid, plain[:tasks].first[:tid]
    refute plain.key?(:tracer)
  end

  test "knows nothing of who is gone" do
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

  # A thread that has its name.
  def named(name)
    names = Queue.new
    Thread.new do
      names << (Thread.current.name = name)
      Thread.stop
    end
    names.pop
  end

  # The kernel tells nobody that a thread has fallen asleep; on its way it may have, too.
  def asleep(pid)
    by = deadline(10)
    until asleep?(state = ProcessState.of(pid))
      flunk "it doesn't fall asleep" if seconds_until(by).zero?
      IO.select(nil, nil, nil, 0.01)
    end
    state
  end

  def asleep?(state)
    state.state == "sleeping" && !WAY.match?(state.tasks.first.syscall)
  end
end
