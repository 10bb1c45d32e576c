# frozen_string_literal: true

require "test_helper"
require "skep/fork"
require "monitor"
require "tempfile"

# What Ruby and Linux do at a fork, as docs/articles/fork_safety.md says.
class SurvivalTest < Skep::TestCase
  test "a child lacks other threads, whose ensure blocks never run" do
    ended = []
    held = Queue.new
    thread = Thread.new do
      held.pop
    ensure
      ended << Process.pid
    end
    assert_equal [false, false, []].inspect, in_a_child { [thread.alive?, thread.status, ended] }
    held.push(nil) && thread.join
    assert_equal [Process.pid], ended
  end

  test "a Mutex that the forking thread holds is owned by it in the child, too" do
    mutex = Mutex.new
    mutex.synchronize { assert_equal "true", in_a_child { mutex.owned? } }
  end

  test "a Mutex and a Monitor that other threads held are unlocked" do
    mutex = Mutex.new
    monitor = Monitor.new
    ready, done = Queue.new, Queue.new
    holder = Thread.new { mutex.synchronize { monitor.synchronize { ready.push(1) && done.pop } } }
    ready.pop
    assert_equal [true, true].inspect, in_a_child { [mutex.try_lock, monitor.try_enter] }
    done.push(1)
    holder.join
  end

  test "a flock is shared: a child unlocks it for its parent, too" do
    Tempfile.create do |file|
      file.flock(File::LOCK_EX)
      other = File.open(file.path)
      refute other.flock(File::LOCK_EX | File::LOCK_NB)
      in_a_child { file.flock(File::LOCK_UN) }
      assert other.flock(File::LOCK_EX | File::LOCK_NB)
    ensure
      other&.close
    end
  end

  test "a fiber continues in the child" do
    fiber = Fiber.new { Fiber.yield(1) || 2 }
    fiber.resume
    assert_equal "2", in_a_child { fiber.resume }
  end

  test "rand differs between children, a Random object doesn't" do
    srand(42)
    random = Random.new(42)
    first = in_a_child { [rand(1 << 64), random.rand(1 << 64)] }
    second = in_a_child { [rand(1 << 64), random.rand(1 << 64)] }
    refute_equal numbers(first).first, numbers(second).first
    assert_equal numbers(first).last, numbers(second).last
  end

  test "a file's position is shared, and what it has buffered is written twice" do
    Tempfile.create do |file|
      file.write("abc")
      pid, = in_child { file.flush }
      Process.wait(pid)
      file.flush
      assert_equal "abcabc", File.read(file.path)
      file.rewind
      in_a_child { file.sysread(4) }
      assert_equal 4, file.sysseek(0, IO::SEEK_CUR)
    end
  end

  private

  # Returns what the block returns in a child, inspected.
  def in_a_child
    pid, reader = in_child { |writer| writer.write(yield.inspect) }
    wait_readable(reader).read.tap { Process.wait(pid) }
  end

  def numbers(text) = text.scan(/\d+/).map(&:to_i)
end
