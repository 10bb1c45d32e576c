# frozen_string_literal: true

require "skep/threads"
require "skep/solid_queue/poll_watch"

module Skep
  class SolidQueue < Guest
    # The workers, dispatchers and the scheduler of this node, as threads, and what Solid Queue's
    # supervisor would do for them: it starts one again that has ended, as after an outage of the
    # database, and removes processes that are dead. It also gives back the jobs of processes that
    # had this node's slot before, and those whose process has no row any more: each look finds
    # what is to be done, by what is in the database and which processes live.
    #
    #   actors = Actors.new(configuration.configured_processes, slot: "host/jobs/0")
    #   actors.start
    #   actors.problem(jobs: true)     # a sentence if one of them doesn't poll, or nil
    #   actors.quieten                 # they take no more jobs, and end once theirs are done
    #   actors.stop(25)                # the same; jobs that take longer are given back
    class Actors
      Actor = Struct.new(:plan, :process)
      SLOT, PROCESS = "skep_slot", "skep_process" # in the metadata of an actor's row
      LOOK = 2.0 # seconds
      AS_LONG_AS_IT_TAKES = 365 * 86_400 # seconds
      private_constant :Actor, :SLOT, :PROCESS, :LOOK, :AS_LONG_AS_IT_TAKES

      def initialize(plans, slot:)
        @marks = { SLOT => slot, PROCESS => Guest::ProcessName.own }
        @actors = plans.map { |plan| Actor.new(plan) }
        @polls = PollWatch.new
        @lock = Mutex.new
        @prune_at = @orphans_at = OS.now
        @orphans = []
      end

      # Raises an ActiveRecordError if the database isn't there.
      def start
        wrap { ::SolidQueue::Process.exists? }
        ::SolidQueue.shutdown_timeout = AS_LONG_AS_IT_TAKES # `stop` has its own
        # Called in their threads.
        ::SolidQueue.on_worker_start { |worker| @polls.began(worker.polling_interval) }
        ::SolidQueue.on_dispatcher_start { |one| @polls.began(one.polling_interval) }
        @polls.subscribe
        @actors.each { |actor| launch(actor) }
        @upkeep = ::Concurrent::TimerTask.new(execution_interval: LOOK) { look }
        @upkeep.execute
      end

      def problem(jobs:) = @polls.problem(jobs:)

      def quieten
        @lock.synchronize do
          @upkeep.shutdown
          # Each waits for its jobs.
          @ending ||= @actors.map do |actor|
            Threads::Background.new("solid_queue.stop", drain: 0) { finish(actor.process) }
          end
        end
      end

      # seconds: how long jobs may take. Then the next process has them.
      def stop(seconds)
        quieten
        deadline = OS.now + seconds
        ended = @ending.map { |thread| thread.close(timeout: [deadline - OS.now, 0].max) }
        wrap do
          give_back
          @actors.each { |actor| release(actor) } unless ended.all?
        end
      rescue ::ActiveRecord::ActiveRecordError # the next process of this slot gives them back
        nil
      end

      private

      # In a thread of Concurrent Ruby: the database may let it wait.
      def look
        wrap do
          @actors.each { |actor| revive(actor) unless actor.process.alive? }
          give_back
          give_back_orphans if OS.now > @orphans_at
          prune if OS.now > @prune_at
        end
      rescue ::ActiveRecord::ActiveRecordError # the database is away: again at the next look
        nil
      rescue StandardError => e # which the timer would keep to itself
        ::Rails.error.report(e, handled: true, source: "application.skep")
      end

      def launch(actor)
        @lock.synchronize do
          next if @ending

          actor.process = instantiate(actor.plan)
          actor.process.start
        end
      end

      # Its row has the slot from the beginning.
      def instantiate(plan)
        marks = @marks
        plan.instantiate.tap do |process|
          process.define_singleton_method(:metadata) { super().merge(marks) }
        end
      end

      def revive(actor)
        release(actor)
        launch(actor)
      end

      # Returns when its jobs are done.
      def finish(process)
        process.stop
      rescue Exception # what its thread has died of, which Solid Queue has reported
        nil
      end

      # Removes its row, and so gives back the jobs that it had claimed.
      def release(actor) = ::SolidQueue::Process.find_by(name: actor.process.name)&.deregister

      # Gives back the jobs of processes that had this slot before, and have ended. That of the next
      # one may be there already: it lives.
      def give_back
        ::SolidQueue::Process.find_each do |row|
          slot, process = row.metadata.values_at(SLOT, PROCESS)
          row.deregister if slot == @marks[SLOT] && gone?(row, process || row.pid)
        end
      end

      # A process of another container can't be seen: it is gone if its row stays as it is.
      def gone?(row, process)
        return Guest::ProcessName.gone?(process) if Guest::ProcessName.here?(process)

        row.last_heartbeat_at < (1.5 * ::SolidQueue.process_heartbeat_interval).seconds.ago
      end

      # Gives back jobs whose process has no row, as it was removed before the last of them was
      # claimed: a process that was paused for too long, or whose transaction ended after it. At two
      # looks, so that a process that lives has noticed it in between.
      def give_back_orphans
        @orphans_at = OS.now + ::SolidQueue.process_heartbeat_interval.to_f
        found = ::SolidQueue::ClaimedExecution.orphaned.ids
        (found & @orphans).each { |id| release_orphan(id) }
        @orphans = found
      end

      # Another process may have released it, and a worker done it, since it was found.
      def release_orphan(id)
        ::SolidQueue::ClaimedExecution.transaction do
          ::SolidQueue::ClaimedExecution.lock.find_by(id:)&.release
        end
      end

      # Solid Queue marks the jobs of processes without a heartbeat as failed, as those of a host
      # that is gone.
      def prune
        @prune_at = OS.now + ::SolidQueue.process_alive_threshold.to_f
        ::SolidQueue::Process.prune
      end

      def wrap(&block) = ::Rails.application.executor.wrap(source: "application.skep", &block)
    end
  end
end
