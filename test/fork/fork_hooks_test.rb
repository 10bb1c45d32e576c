# frozen_string_literal: true

require "test_helper"
require "timeout"
require "skep/fork"

# The registry alone, around forks that are only told of; roads_test.rb has the real ones.
class ForkHooksTest < Skep::TestCase
  ForkHooks = Skep::Fork::ForkHooks
  private_constant :ForkHooks

  def setup
    super
    @said = []
    @reports = []
    @hooks = ForkHooks.new(reporter: ->(error, who) { @reports << [error, who] })
  end

  test "calls before in reverse order, and parent in order" do
    register("a")
    register("b")
    assert_equal 42, @hooks.around_fork { say("fork", 42) }
    assert_equal ["before b", "before a", "fork", "parent a", "parent b"], @said
  end

  test "calls child in order where the fork returned 0" do
    register("a")
    register("b")
    @hooks.around_fork { say("fork", 0) }
    assert_equal ["before b", "before a", "fork", "child a", "child b"], @said
  end

  test "calls parent when the fork fails, and lets its error through" do
    register("a")
    assert_raises(Errno::EAGAIN) { @hooks.around_fork { raise Errno::EAGAIN } }
    assert_equal ["before a", "parent a"], @said
  end

  test "calls child when something after the fork raises in the child" do
    _, reader = in_child do |writer|
      register("a")
      @hooks.around_fork { fork ? 1 : raise("another gem's") }
      writer.puts @said.last
      Process.wait
    rescue RuntimeError
      writer.puts @said.last
    end
    assert_equal ["child a\n", "parent a\n"], wait_readable(reader).readlines.sort
    Process.wait
  end

  test "reports one that raises, and calls the rest" do
    line = __LINE__ + 1
    @hooks.register(before: -> { raise "oops" }, parent: -> { raise NotImplementedError })
    register("a")
    @hooks.around_fork { say("fork", 1) }
    assert_equal ["before a", "fork", "parent a"], @said
    assert_equal %w[oops NotImplementedError], @reports.map { |error, _| error.message }
    assert_equal ["the before callback of #{__FILE__}:#{line}",
                  "the parent callback of #{__FILE__}:#{line}"], @reports.map(&:last)
  end

  test "reports by its own reporter when the reporter given raises" do
    @hooks.reporter = ->(*) { raise IOError, "reporter is broken" }
    @hooks.register(before: -> { raise "oops" })
    _, errors = capture_io { @hooks.around_fork { 1 } }
    assert_match(/raised RuntimeError: oops .*\n.* the reporter of .* raised IOError: /, errors)
  end

  test "lets an exit through, and gives back what the befores took" do
    register("a")
    @hooks.register(before: -> { exit 3 })
    assert_raises(SystemExit) { @hooks.around_fork { say("fork", 1) } }
    assert_equal ["parent a"], @said
  end

  test "keeps what another thread raises until all have run" do
    raising do |provoke|
      register("a")
      @hooks.register(before: -> { provoke.call && say("uninterrupted", nil) })
      assert_raises(IOError) { @hooks.around_fork { say("fork", 1) } }
      assert_equal ["uninterrupted", "before a", "parent a"], @said
      assert_empty @reports
    end
  end

  test "keeps what another thread raises until the parents' callbacks have run" do
    raising do |provoke|
      @hooks.register(parent: -> { provoke.call })
      register("a")
      assert_raises(IOError) { @hooks.around_fork { say("fork", 1) } }
      assert_equal ["before a", "fork", "parent a"], @said
      assert_empty @reports
    end
  end

  test "lets a callback of a process without threads give itself a deadline" do
    _, reader = in_child do |writer|
      # Other tests' threads, where one is started again after each fork: with any, exceptions wait.
      Thread.list.each { |thread| thread.kill.join unless thread == Thread.current }
      register("a")
      @hooks.register(before: -> { Timeout.timeout(0.01) { IO.select(nil) } })
      @hooks.around_fork { say("fork", 1) }
      writer.puts @said.inspect, @reports.map(&:first).map(&:class).inspect
    end
    assert_equal [%w[before\ a fork parent\ a].inspect, "[Timeout::Error]"],
                 wait_readable(reader).read.lines(chomp: true)
    Process.wait
  end

  test "forks bare inside of a callback" do
    @hooks.register(before: -> { @hooks.around_fork { say("inner", 1) } })
    register("a")
    @hooks.around_fork { say("outer", 1) }
    assert_equal ["before a", "inner", "outer", "parent a"], @said
  end

  test "doesn't call what was cancelled" do
    registration = register("a")
    register("b")
    registration.cancel
    registration.cancel
    @hooks.around_fork { say("fork", 1) }
    assert_equal ["before b", "fork", "parent b"], @said
    assert_predicate registration, :cancelled?
  end

  test "ends a fork under way with what it began with" do
    first = register("a")
    @hooks.register(before: -> { first.cancel && register("late") })
    @hooks.around_fork { say("fork", 1) }
    assert_equal ["before a", "fork", "parent a"], @said
  end

  test "refuses what it can't call" do
    error = assert_raises(ArgumentError) { @hooks.register(before: :tidy, child: -> {}) }
    assert_equal "on_fork can't call its before", error.message
    assert_raises(ArgumentError) { @hooks.register }
  end

  test "takes anything that can be called, and says where it is" do
    registration = @hooks.register(child: method(:setup), parent: @said.method(:clear))
    place = method(:setup).source_location.join(":")
    assert_equal "#<Skep::Fork::Registration parent C, child #{place}>", registration.inspect
  end

  private

  # Yields what makes a thread, there since before, raise in this one.
  def raising
    main = Thread.current
    go = Queue.new
    thread = Thread.new { go.pop && main.raise(IOError, "from outside") }
    yield -> { go.push(true) && thread.join }
  ensure
    thread.join
  end

  def say(what, result)
    @said << what
    result
  end

  def register(name)
    blocks = %i[before parent child].to_h { |moment| [moment, -> { @said << "#{moment} #{name}" }] }
    @hooks.register(**blocks)
  end
end
