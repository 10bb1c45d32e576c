# frozen_string_literal: true

# The current job of each of Sidekiq's threads, and when it last took a job or requested one.
#
#   hands.take(job); hands.take(nil)   # the calling thread has this job, or requests one
#   hands.jobs                         # the jobs of all threads that are alive
#   hands.watch_over(others)           # threads without jobs, which must stay alive
#   hands.problem                      # a sentence if a thread is dead or stuck, or nil
class Hands
  PATIENCE = 30.0 # seconds; an unreachable Redis blocks a thread for a few
  Hand = Struct.new(:job, :since)

  def initialize(threads)
    @threads = threads
    @hands = {}.compare_by_identity
    @attendants = []
    @lock = Mutex.new
  end

  def take(job)
    @lock.synchronize { @hands[Thread.current] = Hand.new(job, now) }
  end

  def jobs = alive.filter_map(&:job)
  def watch_over(threads) = @attendants = threads

  def problem
    hands = alive
    few(hands) || late(hands) || dead(@attendants.reject(&:alive?))
  end

  private

  # Sidekiq replaces a thread that dies in a job: a thread counts as lost only at the second check.
  def few(hands)
    before, @few = @few, hands.size < @threads
    "#{hands.size} of #{@threads} Sidekiq threads are left" if before && @few
  end

  def late(hands)
    late = hands.count { |hand| hand.job.nil? && now - hand.since > PATIENCE }
    "#{late} of Sidekiq's threads request no job any more" if late.positive?
  end

  def dead(threads) = threads.any? ? "#{threads.map(&:name).join(", ")} is dead" : nil

  def alive
    @lock.synchronize { @hands.keep_if { |thread, _| thread.alive? }.values }
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
