# frozen_string_literal: true

require "test_helper"
require "skep/fork"
require "monitor"
require "tempfile"

# What Ruby and Linux do at a fork, as docs/articles/fork_safety.md says.
class SurvivalTest < Skep::TestCase
  test "a thread is gone, and its ensure never runs" do
    ended = []
    held = Queue.new
    thread = Thread.new do
      held.pop
    ensure
      ended << Process.pid
    end
    assert_equal [false, false, []].inspect, told { [thread.alive?, thread.status, ended] }
    held.push(nil) && thread.join
    assert_equal [Process.pid], ended
  end

  test "a Mutex of the forking thread stays its own" do
    mutex = Mutex.new
    mutex.synchronize { assert_equal "true", told { mutex.owned? } }
  end

  test "a Mutex and a Monitor that other threads held are unlocked" do
    mutex = Mutex.new
    monitor = Monitor.new
    ready, done = Queue.new, Queue.new
    holder = Thread.new { mutex.synchronize { monitor.synchronize { ready.push(1) && done.pop } } }
    ready.pop
    assert_equal [true, true].inspect, told { [mutex.try_lock, monitor.try_enter] }
    done.push(1)
    holder.join
  end

  test "a flock is shared: a child unlocks it for its parent, too" do
    Tempfile.create do |file|
      file.flock(File::LOCK_EX)
      other = File.open(file.path)
      refute other.flock(File::LOCK_EX | File::LOCK_NB)
      told { file.flock(File::LOCK_UN) }
      assert other.flock(File::LOCK_EX | File::LOCK_NB)
    ensure
      other&.close
    end
  end

  test "a fiber goes on" do
    fiber = Fiber.new { Fiber.yield(1) || 2 }
    fiber.resume
    assert_equal "2", told { fiber.resume }
  end

  test "rand goes its own way, a Random object doesn't" do
    srand(42)
    random = Random.new(42)
    first = told { [rand(1 << 64), random.rand(1 << 64)] }
    second = told { [rand(1 << 64), random.rand(1 << 64)] }
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
      told { file.sysread(4) }
      assert_equal 4, file.sysseek(0, IO::SEEK_CUR)
    end
  end

  private

  # What a child says of it.
  def told
    pid, reader = in_child { |writer| writer.write(yield.inspect) }
    wait_readable(reader).read.tap { Process.wait(pid) }
  end

  def numbers(text) = text.scan(/\d+/).map(&:to_i)
end
