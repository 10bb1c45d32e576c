# frozen_string_literal: true

module Skep
  class Guest
    # Runs the jobs of a node's threads. A job that was in flight when a process crashed runs alone
    # the next time, so that the cause is known. After CRASHES crashes in which it ran alone it is
    # set aside.
    #
    # A job that ends its own thread (Thread#exit) ends its process, too, and so counts as a crash:
    # its server would neither acknowledge nor retry it. An error couldn't go on in that thread,
    # because Active Record rolls back each transaction of a thread that is being killed.
    #
    #   jobs = JobRunner.new(node, threads: 5)
    #   jobs.begin_work   # until then jobs wait, but not those that the calling thread runs itself
    #   jobs.run("Invoice 7c1f", 300, ->(why) { bury(job, why) }) { perform }
    #
    # A name is that of one job, in every process.
    class JobRunner
      CRASHES = 3
      RUNNING = JobLocal.new(:skep_job_running)
      private_constant :CRASHES, :RUNNING

      def initialize(node, threads:)
        @in_flight = InFlight.new(node, threads:)
        @crash_suspects = node.crash_suspects
        @lock, @change = Mutex.new, ConditionVariable.new
        @working = 0
        @alone = @begun = false
        @booting = Thread.current # what it runs is a part of the boot: `perform_inline` of Sidekiq
      end

      # The node is ready: a job that kills it is no failed boot, which would end a swarm or a
      # reload.
      def begin_work = change { @begun = true }

      # Returns true if a job runs.
      def working? = @alone || @working.positive?

      # longest: seconds that it may take, or nil. set_aside: called instead of the block with the
      # reason, if the job must not run any more. A job within a job runs as a part of it.
      def run(name, longest, set_aside, &work)
        return yield if RUNNING.value

        @lock.synchronize { await { @begun || Thread.current == @booting } }
        suspect = @crash_suspects.find { |one| one.in_flight == name }
        return shared { watched(name, longest, &work) } unless suspect
        return give_up(suspect, set_aside) if suspect.alone >= CRASHES

        alone { tried(suspect) { watched(name, longest, &work) } }
      end

      private

      # The process has outlived it, whether the job has succeeded or failed.
      def tried(suspect)
        yield.tap { @crash_suspects.clear([suspect]) }
      rescue StandardError
        @crash_suspects.clear([suspect])
        raise
      end

      def watched(name, longest, &work)
        RUNNING.value = true
        @in_flight.run(name, longest) { whole(name, &work) }
      ensure
        RUNNING.value = nil
      end

      def whole(name)
        over = false
        result = yield
        over = true
        result
      rescue Exception # the server deals with it
        over = true
        raise
      ensure
        crash(name) unless over || !killed?
      end

      # Ruby also ends all threads when the process exits: then the main thread has ended before.
      def killed? = Thread.current.status == "aborting" && Thread.main.alive?

      def crash(name)
        warn("skep: #{name} has ended its own thread, by Thread#kill or Thread.exit: so its " \
             "process ends. Let it return or raise")
        $stderr.flush
        Skep.pidfd(Process.pid).signal(:ABRT)
        Thread.stop # until the signal has arrived
      end

      def give_up(suspect, set_aside)
        set_aside.call("alone in flight in #{suspect.alone} crashes: #{suspect.ends.join(", ")}")
        @crash_suspects.blame([suspect])
        @crash_suspects.clear([suspect])
      end

      def shared
        @lock.synchronize do
          await { !@alone }
          @working += 1
        end
        begin
          yield
        ensure
          change { @working -= 1 }
        end
      end

      def alone
        @lock.synchronize do
          await { !@alone }
          @alone = true
        end
        begin
          @lock.synchronize { await { @working.zero? } }
          yield
        ensure
          change { @alone = false }
        end
      end

      def await
        @change.wait(@lock) until yield
      end

      def change
        @lock.synchronize do
          yield
          @change.broadcast
        end
      end
    end
  end
end
