# frozen_string_literal: true

require "test_helper"
require "skep/threads"
require "timeout"

class PoolTest < Skep::TestCase
  Pool = Skep::Threads::Pool
  private_constant :Pool

  def setup
    super
    @pool = Pool.new(3)
  end

  def teardown
    @pool.close(timeout: 5)
    super
  end

  test "gives the results in the items' order" do
    ended = Skep::Threads::Inbox.new
    results = @pool.run([1, 2, 3]) do |item|
      item == 1 ? 2.times { ended.pop(timeout: 5) } : ended.push(item) # the first ends last
      item * 10
    end
    assert_equal [10, 20, 30], results
  end

  test "runs as many at a time as it has threads" do
    inboxes = Array.new(3) { Skep::Threads::Inbox.new }
    names = @pool.run(inboxes) do |inbox|
      (inboxes - [inbox]).each { |other| other.push(:here) }
      2.times { assert_equal :here, inbox.pop(timeout: 5) }
      Thread.current.name
    end
    assert_equal %w[skep.pool.0 skep.pool.1 skep.pool.2], names.sort
  end

  test "takes any items, more than threads or none" do
    assert_equal (1..100).map(&:succ), @pool.run((1..100).each_entry, &:succ)
    assert_empty @pool.run([]) { flunk }
  end

  test "does every job, then raises what they raised, each with its item" do
    done = Thread::Queue.new
    error = assert_raises(Pool::JobsFailed) do
      @pool.run(%w[a b c d]) { |item| "ac".include?(item) ? raise(IOError, item) : done << item }
    end
    told = error.failures.map { |failure| [failure.item, failure.index, failure.error.message] }
    assert_equal [["a", 0, "a"], ["c", 2, "c"]], told
    assert_equal 2, done.size
    assert_same error.failures.first.error, error.cause
    assert_equal "2 of 4 jobs failed, the first, at index 0, by IOError: a; failures tells of each",
                 error.message
    assert_kind_of Skep::Error, error
  end

  test "survives jobs that exit, throw or overflow the stack" do
    dig = ->(depth) { dig.call(depth + 1) }
    error = assert_raises(Pool::JobsFailed) do
      @pool.run([-> { exit }, -> { throw :nowhere }, -> { dig.call(0) }], &:call)
    end
    assert_equal [SystemExit, UncaughtThrowError, SystemStackError],
                 error.failures.map { |failure| failure.error.class }
    assert_equal [1], @pool.run([1], &:itself)
  end

  test "goes on with other threads when jobs kill theirs" do
    single = Pool.new(1)
    error = assert_raises(Pool::JobsFailed) do
      single.run(1..4) { |item| Thread.current.kill if item.even? }
    end
    assert_equal [2, 4], error.failures.map(&:item)
    assert_equal [Pool::ThreadKilled] * 2, error.failures.map { |failure| failure.error.class }
    assert single.close(timeout: 5)
  end

  test "lets several batches share it" do
    callers = Array.new(4) { |n| Thread.new { @pool.run(Array.new(20, n)) { |item| item + 1 } } }
    assert_equal([1, 2, 3, 4].map { |n| [n] * 20 }, callers.map(&:value))
  end

  test "does a batch of a job in that job's thread" do
    single = Pool.new(1)
    assert_equal [[2, 4], [3, 6]], single.run([2, 3]) { |n| single.run([1, 2]) { |m| n * m } }
    single.close
  end

  test "leaves the jobs undone that hadn't begun when its caller is interrupted" do
    gate = Thread::Queue.new
    begun = Thread::Queue.new
    assert_raises(Timeout::Error) do
      Timeout.timeout(0.05) { @pool.run(1..10) { |item| begun.push(item) && gate.pop } }
    end
    gate.close
    assert @pool.close(timeout: 5)
    assert_operator begun.size, :<=, 3
  end

  test "starts its threads at the first run, and keeps them" do
    before = threads
    2.times { @pool.run([1]) { nil } }
    assert_equal %w[skep.pool.0 skep.pool.1 skep.pool.2], (threads - before).map(&:name)
  end

  test "works in a forked child" do
    @pool.run([1]) { nil }
    _, reader = in_child do |writer|
      writer.puts @pool.run([1, 2]) { |item| item * 2 }.inspect
      writer.puts @pool.close(timeout: 5)
    end
    assert_equal "[2, 4]\ntrue\n", wait_readable(reader).read
    assert_equal [3], @pool.run([3], &:itself)
    Process.wait
  end

  test "works in a child forked by one of its jobs" do
    pid, reader = @pool.run([1]) do
      in_child { |writer| writer.puts @pool.run([1, 2]) { |item| item * 2 }.inspect }
    end.first
    assert_equal "[2, 4]\n", wait_readable(reader).read
    Process.wait(pid)
  end

  test "refuses batches once closed" do
    assert @pool.close
    error = assert_raises(Pool::Closed) { @pool.run([1]) { nil } }
    assert_kind_of Skep::Error, error
    assert_equal "#<Skep::Threads::Pool pool size=3 closed>", @pool.inspect
  end

  test "ends a batch under way before it closes" do
    gate = Thread::Queue.new
    caller = Thread.new { @pool.run(1..3) { |item| gate.pop && item } }
    3.times { gate << true }
    assert_equal [1, 2, 3], caller.value
    assert @pool.close(timeout: 5)
  end

  test "refuses a size that isn't one, and a run without a block" do
    assert_raises(ArgumentError) { Pool.new(0) }
    assert_raises(TypeError) { Pool.new(nil) }
    assert_raises(ArgumentError) { @pool.run([1]) }
  end
end
