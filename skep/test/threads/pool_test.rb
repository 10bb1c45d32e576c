# frozen_string_literal: true

require "test_helper"
require "skep/threads"
require "timeout"

class PoolTest < Skep::TestCase
  Pool = Skep::Threads::Pool
  Inbox = Skep::Threads::Inbox
  private_constant :Pool, :Inbox

  def setup
    super
    @pool = Pool.new(3)
  end

  def teardown
    @pool.close(timeout: 5)
    super
  end

  test "returns the results in the items' order" do
    ended = Inbox.new
    results = @pool.run([1, 2, 3]) do |item|
      item == 1 ? 2.times { ended.pop(timeout: 5) } : ended.push(item) # the first ends last
      item * 10
    end
    assert_equal [10, 20, 30], results
  end

  test "runs as many jobs at a time as it has threads, with and without help:" do
    assert_equal [own_name, "skep.pool.0", "skep.pool.1"], meet(@pool, 3, help: true)
    assert_equal %w[skep.pool.0 skep.pool.1 skep.pool.2], meet(@pool, 3, help: false)
  end

  test "runs no more jobs at a time than it has threads" do
    [true, false].each { |help| assert_equal 3, most_at_a_time(@pool, 9, help:) }
  end

  test "accepts any number of items, and nil and false" do
    [true, false].each do |help|
      assert_equal (1..100).map(&:succ), @pool.run((1..100).each_entry, help:, &:succ)
      assert_empty @pool.run([], help:) { flunk }
      assert_equal [nil, false, nil], @pool.run([nil, false, nil], help:, &:itself)
    end
  end

  test "does every job, then raises JobsFailed with each error and its item" do
    done = Thread::Queue.new
    error = assert_raises(Pool::JobsFailed) do
      @pool.run(%w[a b c d]) { |item| "ac".include?(item) ? raise(IOError, item) : done << item }
    end
    facts = error.failures.map { |failure| [failure.item, failure.index, failure.error.message] }
    assert_equal [["a", 0, "a"], ["c", 2, "c"]], facts
    assert_equal 2, done.size
    assert_same error.failures.first.error, error.cause
    assert_equal "2 of 4 jobs failed, the first, at index 0, by IOError: a; failures lists each",
                 error.message
    assert_kind_of Skep::Error, error
  end

  test "survives jobs that throw or overflow the stack" do
    dig = ->(depth) { dig.call(depth + 1) }
    [true, false].each do |help|
      error = assert_raises(Pool::JobsFailed) do
        @pool.run([-> { throw :nowhere }, -> { dig.call(0) }, -> { raise NotImplementedError }],
                  help:, &:call)
      end
      assert_equal [UncaughtThrowError, SystemStackError, NotImplementedError],
                   error.failures.map { |failure| failure.error.class }
      assert_equal [1], @pool.run([1], help:, &:itself)
    end
  end

  test "a job's exit ends the program" do
    [true, false].each do |help|
      error = assert_raises(SystemExit) { @pool.run([3, 4], help:) { |item| exit(item) } }
      assert_includes [3, 4], error.status
    end
  end

  test "a trap handler's exit during the caller's job ends the program" do
    _, _, status = run_program(<<~RUBY)
      require "skep/threads"
      trap("USR1") { exit 3 }
      Skep::Threads::Pool.new(2).run([1]) { Process.kill(:USR1, Process.pid) && Queue.new.pop }
    RUBY
    assert_equal 3, status.exitstatus
  end

  test "continues with other threads if jobs kill theirs" do
    single = Pool.new(1)
    [true, false].each do |help|
      error = assert_raises(Pool::JobsFailed) do
        single.run(1..4, help:) { |item| Thread.current.kill if item.even? }
      end
      assert_equal [2, 4], error.failures.map(&:item)
      assert_equal [Pool::ThreadKilled] * 2, error.failures.map { |failure| failure.error.class }
    end
    assert single.close(timeout: 5)
  end

  test "replaces threads that are killed while they wait" do
    @pool.run(1..3, help: false) { nil }
    killed = workers.each(&:kill).each(&:join)
    assert_equal %w[skep.pool.0 skep.pool.1 skep.pool.2], meet(@pool, 3, help: false)
    assert_empty workers & killed
  end

  test "reports a thread in which other code raised an error, and replaces it" do
    reports = Inbox.new
    reporter = ->(error, source) { reports.push("#{source}: #{error.message}") }
    pool = Pool.new(1, reporter:)
    pool.run([1], help: false) { nil }
    workers.each { |thread| thread.raise(IOError, "from nowhere") }
    assert_equal "the thread skep.pool.0: from nowhere", reports.pop(timeout: 5)
    assert_equal [1], pool.run([1], help: false, &:itself)
    assert pool.close(timeout: 5)
  end

  test "runs batches of several threads at a time" do
    callers = Array.new(4) do |n|
      Thread.new { @pool.run(Array.new(20, n), help: n.even?) { |item| item + 1 } }
    end
    assert_equal([1, 2, 3, 4].map { |n| [n] * 20 }, callers.map(&:value))
  end

  test "a job may run batches, at any depth" do
    single = Pool.new(1)
    [single, @pool].product([true, false]).each do |pool, help|
      assert_equal [[2, 4], [3, 6]],
                   pool.run([2, 3], help:) { |n| pool.run([1, 2], help:) { |m| n * m } }
    end
    assert_equal 243, leaves(@pool, 5)
    assert single.close(timeout: 5)
  end

  test "cancels the jobs that haven't started if its caller is interrupted" do
    [true, false].each do |help|
      gate = Thread::Queue.new
      begun = Thread::Queue.new
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.05) { @pool.run(1..10, help:) { |item| begun.push(item) && gate.pop } }
      end
      gate.close
      assert_operator begun.size, :<=, 3
      assert_equal [5], @pool.run([5], help:, &:itself)
    end
  end

  test "raises an Interrupt of the caller's job at once" do
    error = assert_raises(Interrupt) do
      @pool.run(1..10) { |item| item == 1 && raise(Interrupt, "from the terminal") }
    end
    assert_equal "from the terminal", error.message
  end

  test "starts threads when they are needed, keeps them, and does short jobs in the caller" do
    before = threads
    assert_equal [own_name] * 2, Pool.new(1).run([1, 2]) { own_name }
    assert_equal [own_name], @pool.run([1]) { own_name }
    assert_empty threads - before
    2.times { meet(@pool, 3, help: false) }
    assert_equal %w[skep.pool.0 skep.pool.1 skep.pool.2], (threads - before).map(&:name)
  end

  test "does all jobs in the caller if no thread can be started" do
    Thread.stub(:new, ->(*) { raise ThreadError, "can't create Thread" }) do
      assert_equal [1, 2, 3], @pool.run([1, 2, 3], &:itself)
      error = assert_raises(ThreadError) { @pool.run([1, 2, 3], help: false, &:itself) }
      assert_equal "can't create Thread", error.message
    end
    assert_equal [1, 2, 3], @pool.run([1, 2, 3], help: false, &:itself)
  end

  test "works in a forked child" do
    @pool.run(1..3, help: false) { nil }
    _, reader = in_child do |writer|
      writer.puts @pool.run([1, 2], help: false) { |item| item * 2 }.inspect
      writer.puts @pool.run([1, 2]) { |item| item * 2 }.inspect
      writer.puts @pool.close(timeout: 5)
    end
    assert_equal "[2, 4]\n[2, 4]\ntrue\n", wait_readable(reader).read
    assert_equal [3], @pool.run([3], help: false, &:itself)
    Process.wait
  end

  test "works in a child forked by one of its jobs" do
    [true, false].each do |help|
      pid, reader = @pool.run([1], help:) do
        in_child { |writer| writer.puts @pool.run([1, 2], help:) { |item| item * 2 }.inspect }
      end.first
      assert_equal "[2, 4]\n", wait_readable(reader).read
      Process.wait(pid)
    end
  end

  test "raises ForkedInJob in a child that a job forked and continues in" do
    out, = run_program(<<~RUBY)
      require "skep/threads"
      $stdout.sync = true
      begin
        done = Skep::Threads::Pool.new(1).run([1, 2, 3]) do |item|
          pid = fork if item == 1
          Process.wait(pid) if pid
          puts "\#{item} by \#{Skep.generation}"
        end
        puts "all of \#{done.size}"
      rescue Skep::Threads::Pool::ForkedInJob => error
        puts error.message[/this is the child/]
      end
    RUBY
    assert_equal ["1 by 0", "1 by 1", "2 by 0", "3 by 0", "all of 3", "this is the child"],
                 out.lines.map(&:chomp).sort
  end

  test "ends a child that a job forked in a thread of the pool and continues in" do
    out, err, = run_program(<<~RUBY)
      require "skep/threads"
      $stdout.sync = true
      done = Skep::Threads::Pool.new(2).run([1, 2, 3], help: false) do |item|
        pid = fork if item == 1
        puts "ended with \#{Process.wait2(pid).last.exitstatus}" if pid
        puts "\#{item} by \#{Skep.generation}"
      end
      puts "all of \#{done.size}"
    RUBY
    assert_empty err
    assert_equal ["1 by 0", "1 by 1", "2 by 0", "3 by 0", "all of 3", "ended with 0"],
                 out.lines.map(&:chomp).sort
  end

  test "raises Closed after close, and is closed in a forked child, too" do
    assert @pool.close
    error = assert_raises(Pool::Closed) { @pool.run([1]) { nil } }
    assert_kind_of Skep::Error, error
    assert_equal "#<Skep::Threads::Pool pool size=3 closed>", @pool.inspect
    _, reader = in_child { |writer| writer.puts @pool.inspect }
    assert_match(/closed/, wait_readable(reader).read)
    Process.wait
  end

  test "close waits for the batch in progress, which keeps all its threads" do
    [true, false].each do |help|
      pool = Pool.new(3)
      begun, gate = Inbox.new, Thread::Queue.new
      caller = Thread.new { pool.run(1..6, help:) { |item| begun.push(item) && gate.pop && item } }
      begun.pop(timeout: 5)
      refute pool.close(timeout: 0)
      2.times { begun.pop(timeout: 5) }
      6.times { gate << true }
      assert pool.close(timeout: 5)
      assert_equal [1, 2, 3, 4, 5, 6], caller.value
    end
  end

  test "close returns false inside a job" do
    [true, false].each do |help|
      pool = Pool.new(2)
      assert_equal [false, false], pool.run([1, 2], help:) { pool.close }
      assert pool.close(timeout: 5)
    end
  end

  test "raises for an invalid size, and for a run without a block" do
    assert_raises(ArgumentError) { Pool.new(0) }
    assert_raises(TypeError) { Pool.new(nil) }
    assert_raises(ArgumentError) { @pool.run([1]) }
  end

  test "can be closed after another thread raised an error at any moment of a run" do
    [true, false].each do |help|
      moments = 1.step.find { |moment| !raised_at?(moment, help:) }
      assert_operator moments, :>, 50
    end
  end

  private

  # Runs a batch in which another thread raises at the n-th return of a method or block of the
  # pool, which is where Ruby lets it; the pool must close then. Returns false if there is no n-th.
  def raised_at?(moment, help:)
    pool, seen, caller = Pool.new(2), 0, Thread.current
    pool.run([0], &:itself)
    trace = TracePoint.new(:return, :b_return, :c_return) do |event|
      next unless Thread.current == caller && event.path.include?("lib/skep/threads/pool")

      Thread.new { caller.raise(IOError, "late") }.join if (seen += 1) == moment
    end
    begin
      trace.enable { pool.run([1, 2], help:, &:itself) }
    rescue IOError, Pool::JobsFailed
      nil
    end
    assert pool.close(timeout: 10), "help: #{help}, raised at return #{moment}"
    seen >= moment
  end

  def own_name = Thread.current.name

  def workers = threads.select { |thread| thread.name.to_s.start_with?("skep.pool") }

  # Runs so many jobs, each of which waits until all have begun. Returns their threads' names.
  def meet(pool, count, help:)
    pool.run(Array.new(count) { Inbox.new }.then { |all| all.product([all]) }, help:) do |own, all|
      (all - [own]).each { |other| other.push(:here) }
      (count - 1).times { assert_equal :here, own.pop(timeout: 5) }
      own_name
    end.sort_by(&:to_s)
  end

  # Returns how many jobs ran at a time. Each waits until the pool is full, and a moment for others.
  def most_at_a_time(pool, jobs, help:)
    lock, now, most, full, bell = Mutex.new, 0, 0, Inbox.new, Inbox.new
    pool.run(1..jobs, help:) do
      lock.synchronize { most = [most, now += 1].max }
      full.close if most == pool.size
      full.pop(timeout: 5)
      bell.pop(timeout: 0.02)
      lock.synchronize { now -= 1 }
    end
    most
  end

  def leaves(pool, depth)
    return 1 if depth.zero?

    pool.run(1..3) { leaves(pool, depth - 1) }.sum
  end
end
