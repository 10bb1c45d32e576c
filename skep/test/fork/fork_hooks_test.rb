# frozen_string_literal: true

require "test_helper"
require "timeout"
require "skep/fork"

# The callbacks alone, around blocks in place of forks. fork_methods_test.rb has the real forks.
class ForkHooksTest < Skep::TestCase
  ForkHooks = Skep::Fork::ForkHooks
  private_constant :ForkHooks

  def setup
    super
    @calls = []
    @reports = []
    @hooks = ForkHooks.new(reporter: ->(error, source) { @reports << [error, source] })
  end

  test "calls before in reverse order, and parent in order" do
    register("a")
    register("b")
    assert_equal 42, @hooks.around_fork { record("fork", 42) }
    assert_equal ["before b", "before a", "fork", "parent a", "parent b"], @calls
  end

  test "calls child in order where the fork returned 0" do
    register("a")
    register("b")
    @hooks.around_fork { record("fork", 0) }
    assert_equal ["before b", "before a", "fork", "child a", "child b"], @calls
  end

  test "calls parent when the fork fails, and raises its error" do
    register("a")
    assert_raises(Errno::EAGAIN) { @hooks.around_fork { raise Errno::EAGAIN } }
    assert_equal ["before a", "parent a"], @calls
  end

  test "calls child when something after the fork raises in the child" do
    _, reader = in_child do |writer|
      register("a")
      @hooks.around_fork { fork ? 1 : raise("another gem's") }
      writer.puts @calls.last
      Process.wait
    rescue RuntimeError
      writer.puts @calls.last
    end
    assert_equal ["child a\n", "parent a\n"], wait_readable(reader).readlines.sort
    Process.wait
  end

  test "reports a callback that raises, and calls the rest" do
    line = __LINE__ + 1
    @hooks.register(before: -> { raise "oops" }, parent: -> { raise NotImplementedError })
    register("a")
    @hooks.around_fork { record("fork", 1) }
    assert_equal ["before a", "fork", "parent a"], @calls
    assert_equal %w[oops NotImplementedError], @reports.map { |error, _| error.message }
    assert_equal ["the before callback of #{__FILE__}:#{line}",
                  "the parent callback of #{__FILE__}:#{line}"], @reports.map(&:last)
  end

  test "reports on stderr when the given reporter raises" do
    @hooks.reporter = ->(*) { raise IOError, "reporter is broken" }
    @hooks.register(before: -> { raise "oops" })
    _, errors = capture_io { @hooks.around_fork { 1 } }
    assert_match(/raised RuntimeError: oops .*\n.* the reporter of .* raised IOError: /, errors)
  end

  test "an exit in a before callback runs the parent callbacks first" do
    register("a")
    @hooks.register(before: -> { exit 3 })
    assert_raises(SystemExit) { @hooks.around_fork { record("fork", 1) } }
    assert_equal ["parent a"], @calls
  end

  test "defers another thread's exception until all callbacks have run" do
    raising do |provoke|
      register("a")
      @hooks.register(before: -> { provoke.call && record("uninterrupted", nil) })
      assert_raises(IOError) { @hooks.around_fork { record("fork", 1) } }
      assert_equal ["uninterrupted", "before a", "parent a"], @calls
      assert_empty @reports
    end
  end

  test "defers another thread's exception until the parent callbacks have run" do
    raising do |provoke|
      @hooks.register(parent: -> { provoke.call })
      register("a")
      assert_raises(IOError) { @hooks.around_fork { record("fork", 1) } }
      assert_equal ["before a", "fork", "parent a"], @calls
      assert_empty @reports
    end
  end

  test "a Timeout works in a callback if the process has no other thread" do
    _, reader = in_child do |writer|
      # Other tests' threads may restart after each fork. With any thread, exceptions are deferred.
      Thread.list.each { |thread| thread.kill.join unless thread == Thread.current }
      register("a")
      @hooks.register(before: -> { Timeout.timeout(0.01) { IO.select(nil) } })
      @hooks.around_fork { record("fork", 1) }
      writer.puts @calls.inspect, @reports.map(&:first).map(&:class).inspect
    end
    assert_equal [%w[before\ a fork parent\ a].inspect, "[Timeout::Error]"],
                 wait_readable(reader).read.lines(chomp: true)
    Process.wait
  end

  test "a fork inside a callback runs no callbacks" do
    @hooks.register(before: -> { @hooks.around_fork { record("inner", 1) } })
    register("a")
    @hooks.around_fork { record("outer", 1) }
    assert_equal ["before a", "inner", "outer", "parent a"], @calls
  end

  test "doesn't call a cancelled callback" do
    registration = register("a")
    register("b")
    registration.cancel
    registration.cancel
    @hooks.around_fork { record("fork", 1) }
    assert_equal ["before b", "fork", "parent b"], @calls
    assert_predicate registration, :cancelled?
  end

  test "a fork in progress keeps the callbacks that it began with" do
    first = register("a")
    @hooks.register(before: -> { first.cancel && register("late") })
    @hooks.around_fork { record("fork", 1) }
    assert_equal ["before a", "fork", "parent a"], @calls
  end

  test "register raises for objects without call" do
    error = assert_raises(ArgumentError) { @hooks.register(before: :tidy, child: -> {}) }
    assert_equal "on_fork can't call its before", error.message
    assert_raises(ArgumentError) { @hooks.register }
  end

  test "register accepts any object with call, and inspect has its place" do
    registration = @hooks.register(child: method(:setup), parent: @calls.method(:clear))
    place = method(:setup).source_location.join(":")
    assert_equal "#<Skep::Fork::Registration parent C, child #{place}>", registration.inspect
  end

  private

  # Yields a lambda that makes a thread, started before, raise in this one.
  def raising
    main = Thread.current
    go = Queue.new
    thread = Thread.new { go.pop && main.raise(IOError, "from outside") }
    yield -> { go.push(true) && thread.join }
  ensure
    thread.join
  end

  def record(what, result)
    @calls << what
    result
  end

  def register(name)
    blocks = %i[before parent child].to_h do |moment|
      [moment, -> { @calls << "#{moment} #{name}" }]
    end
    @hooks.register(**blocks)
  end
end
