# frozen_string_literal: true

require "test_helper"
require "skep/guest"
Skep::Sidekiq ||= Class.new(Skep::Guest) # Sidekiq itself isn't needed for it
require "skep/sidekiq/thread_watch"

class ThreadWatchTest < Skep::TestCase
  # A machine whose clock the test moves.
  class Clock < Skep::OS::Machine
    attr_accessor :now
  end
  private_constant :Clock

  def setup
    super
    @watch = Skep::Sidekiq::ThreadWatch.new(2)
    @threads = []
    @clock = Clock.new.tap { |clock| clock.now = 100.0 }
  end

  def teardown
    @threads.each(&:kill).each(&:join)
    super
  end

  test "finds no problem while all threads take jobs" do
    taking("a", nil)
    assert_nil problem
    assert_equal ["a"], @watch.jobs
  end

  test "a thread is lost only if it is gone at two looks: Sidekiq replaces one that died" do
    taking("a")
    assert_nil problem
    assert_equal "1 of 2 Sidekiq threads are left", problem
    taking("b")
    assert_nil problem
  end

  test "a thread that requests no job any more is stuck, one with a job isn't" do
    taking("a", nil)
    @clock.now += 31
    assert_equal "1 of Sidekiq's threads request no job any more", problem
  end

  test "a thread of Sidekiq's that runs no jobs must stay alive" do
    heart = thread("sidekiq.heartbeat")
    taking("a", "b")
    @watch.began
    assert_nil problem
    heart.kill.join
    assert_equal "sidekiq.heartbeat is dead", problem
  end

  test "with Sidekiq's own fetch, its threads are counted by their names" do
    @watch = Skep::Sidekiq::ThreadWatch.new(2, fetches: false)
    2.times { thread("sidekiq.default/processor") }
    2.times { assert_nil problem }
    @threads.last.kill.join
    assert_equal [nil, "1 of 2 Sidekiq threads are left"], Array.new(2) { problem }
  end

  private

  def problem = Skep::OS.run_on(@clock) { @watch.problem }

  def thread(name)
    waiting = Queue.new
    @threads << Thread.new { [yield_if(block_given? && -> { yield }), waiting << 1, Thread.stop] }
    waiting.pop
    @threads.last.tap { |one| one.name = name }
  end

  def yield_if(block) = block && block.call

  def taking(*jobs)
    Skep::OS.run_on(@clock) { jobs.each { |job| thread("job") { @watch.take(job) } } }
  end
end
