# frozen_string_literal: true

require "test_helper"
require "skep/guest"
Skep::SolidQueue ||= Class.new(Skep::Guest) # neither Solid Queue nor Rails is needed for it
require "skep/solid_queue/poll_watch"

class PollWatchTest < Skep::TestCase
  # A machine whose clock the test moves.
  class Clock < Skep::OS::Machine
    attr_accessor :now
  end
  # What it uses of ActiveSupport::Notifications.
  Notifications = Struct.new(:blocks) do
    def subscribe(name, &block) = blocks[name] = block
  end
  private_constant :Clock, :Notifications

  def setup
    super
    @clock = Clock.new.tap { |clock| clock.now = 100.0 }
    @polls = Skep::SolidQueue::PollWatch.new
    @polls.subscribe(@notifications = Notifications.new({}))
    at { @polls.began(0.1) }
  end

  test "a thread that polls is well" do
    later(25) { poll }
    later(25) { assert_nil problem }
  end

  test "a thread that has polled for longer than half a minute is stuck" do
    later(29) { assert_nil problem }
    later(2) { assert_equal "1 of Solid Queue's threads don't ask for jobs any more", problem }
  end

  test "an interval of polls is added" do
    at { @polls.began(60) }
    later(85) { assert_nil problem }
    later(10) { assert problem }
  end

  test "while jobs run, nothing is judged, and threads have half a minute afterwards" do
    later(100) { assert_nil @polls.problem(jobs: true) }
    later(29) { assert_nil problem }
    later(2) { assert problem }
  end

  test "an error of a thread is a sign of life: the database may be away" do
    later(100) { @notifications.blocks.fetch("thread_error.solid_queue").call(nil) }
    later(29) { assert_nil problem }
  end

  test "a thread that has ended isn't missed" do
    Thread.new { at { @polls.began(0.1) } }.join
    later(29) { poll }
    later(10) { assert_nil problem }
  end

  private

  def at(&block) = Skep::OS.run_on(@clock, &block)

  def later(seconds, &block)
    @clock.now += seconds
    at(&block)
  end

  def poll = @notifications.blocks.fetch("polling.solid_queue").call(nil)
  def problem = @polls.problem(jobs: false)
end
