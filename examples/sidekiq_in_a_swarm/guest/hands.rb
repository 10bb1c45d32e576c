# frozen_string_literal: true

# What each of Sidekiq's threads has in hand, and when it last took something up or asked for it.
#
#   hands.take(job); hands.take(nil)   # the calling thread has this job, or asks for one
#   hands.jobs                         # of all threads that live
#   hands.watch_over(others)           # threads without jobs, which are to live on
#   hands.complaint                    # what is wrong with them, in words, or nil
class Hands
  PATIENCE = 30.0 # seconds; an unreachable Redis holds a thread for a few
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

  def jobs = living.filter_map(&:job)
  def watch_over(threads) = @attendants = threads

  def complaint
    hands = living
    few(hands) || late(hands) || dead(@attendants.reject(&:alive?))
  end

  private

  # A thread that dies of its job is replaced: it is missed only at the second look.
  def few(hands)
    before, @few = @few, hands.size < @threads
    "#{hands.size} of #{@threads} threads of Sidekiq's are left" if before && @few
  end

  def late(hands)
    late = hands.count { |hand| hand.job.nil? && now - hand.since > PATIENCE }
    "#{late} threads of Sidekiq's ask for no job any more" if late.positive?
  end

  def dead(threads) = threads.any? ? "#{threads.map(&:name).join(", ")} is dead" : nil

  def living
    @lock.synchronize { @hands.keep_if { |thread, _| thread.alive? }.values }
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
