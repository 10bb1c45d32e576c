# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ErrorGuardTest < Skep::TestCase
  # A machine whose clock the test moves.
  class Clock < Skep::OS::Machine
    attr_accessor :now
  end
  private_constant :Clock

  def setup
    super
    @clock = Clock.new
    @clock.now = 1_000.0
    @published, @too_many = [], []
    @events = Skep::Swarm::Runtime::EventBus.new { |too_many| @too_many << too_many }
    @events.keep_running_after_errors
    @events.subscribe { |event| @published << event }
  end

  test "an error is published with what failed, where, and how many there were" do
    report("timer")
    event = @published.first
    assert_equal [:supervisor_error, :error], [event.name, event.level]
    assert_equal ["timer", 1, "RuntimeError: a bug"],
                 event.facts.values_at(:action, :count, :error)
    assert_match(/\A\S*error_guard_test\.rb:\d+\z/, event.facts[:at])
    assert_operator event.facts[:backtrace].size, :>, 1
    assert_predicate @events, :errors?
  end

  test "returns the exception that it has reported, or nil" do
    error = @events.guard("timer") { raise LoadError, "no file" }
    assert_equal [LoadError, "no file"], [error.class, error.message]
    assert_nil @events.guard("timer") { :done }
    assert_equal 1, @published.size
  end

  test "an error before nodes are requested leaves the guard, unless it is a command's" do
    @events = Skep::Swarm::Runtime::EventBus.new
    assert_raises(RuntimeError) { @events.guard("timer") { raise "a bug" } }
    refute_predicate @events, :errors?
    @events.guard("status", harmless: true) { raise "a bug" }
    assert_predicate @events, :errors?
  end

  test "an interrupt and an exit leave the guard" do
    [Interrupt, SystemExit, NoMemoryError].each do |error|
      assert_raises(error) { @events.guard("timer", harmless: true) { raise error } }
    end
    assert_empty @published
  end

  test "errors of observers and commands end no swarm" do
    20.times { report("status", harmless: true) }
    assert_equal [10, 20, [false] * 20], [@published.size, count, @too_many]
  end

  test "of more than ten within a minute the others are counted only, and the swarm hears it" do
    12.times { report("timer") }
    assert_equal [10, 12, [false] * 10 + [true] * 2], [@published.size, count, @too_many]
    @clock.now += 60.0
    report("timer")
    assert_equal 13, @published.last.facts[:count]
    refute @too_many.last
  end

  test "ten within a minute, again and again, don't end a swarm" do
    100.times do
      report("timer")
      @clock.now += 6.1
    end
    assert_equal [100, [false]], [@published.size, @too_many.uniq]
  end

  test "an error at the publication of an error is printed, and not raised" do
    @events.subscribe { raise "a bug in a subscriber" }
    _, err = capture_io { report("timer") }
    assert_match(/\Askep: RuntimeError: a bug in a subscriber at /, err)
    capture_io { report("timer") }
    assert_equal 2, @published.last.facts[:count]
  end

  private

  def count = @events.counts["supervisor_error"]

  def report(action, **how)
    Skep::OS.run_on(@clock) { @events.guard(action, **how) { raise "a bug" } }
  end
end
