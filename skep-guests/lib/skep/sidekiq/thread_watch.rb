# frozen_string_literal: true

module Skep
  class Sidekiq < Guest
    # The current job of each of Sidekiq's threads, and when it last took a job or requested one.
    #
    #   watch.take(job); watch.take(nil)   # the calling thread has this job, or requests one
    #   watch.jobs                         # the jobs of all threads that are alive
    #   watch.began                        # all threads run: those without jobs must stay alive
    #   watch.problem                      # a sentence if a thread is dead or stuck, or nil
    class ThreadWatch
      PATIENCE = 30.0 # seconds; an unreachable Redis blocks a thread for a few
      PROCESSOR = /\Asidekiq\..*processor\z/
      OTHER = /\Asidekiq\..*(?<!processor)\z/
      Hand = Struct.new(:job, :since)
      private_constant :PATIENCE, :PROCESSOR, :OTHER, :Hand

      # fetches: true if the threads call `take` whenever they request a job.
      def initialize(threads, fetches: true)
        @threads, @fetches = threads, fetches
        @hands = {}.compare_by_identity
        @others = []
        @lock = Mutex.new
      end

      def take(job)
        @lock.synchronize { @hands[Thread.current] = Hand.new(job, OS.now) }
      end

      def jobs = alive.filter_map(&:job)
      def began = @others = named(OTHER)

      def problem = few(@fetches ? alive.size : named(PROCESSOR).size) || late || dead

      private

      # Sidekiq replaces a thread that dies in a job: a thread counts as lost only at the second
      # call.
      def few(number)
        before, @few = @few, number < @threads
        "#{number} of #{@threads} Sidekiq threads are left" if before && @few
      end

      def late
        late = alive.count { |hand| hand.job.nil? && OS.now - hand.since > PATIENCE }
        "#{late} of Sidekiq's threads request no job any more" if late.positive?
      end

      def dead
        names = @others.reject(&:alive?).map(&:name)
        "#{names.join(", ")} is dead" if names.any?
      end

      def alive
        @lock.synchronize { @hands.keep_if { |thread, _| thread.alive? }.values }
      end

      def named(pattern) = Thread.list.select { |one| one.name.to_s.match?(pattern) }
    end
  end
end
