# frozen_string_literal: true

# One run: injects the faults of the schedule when they are due, observes the recoveries, reports.
#
#   Runner.new(schedule, target, out: $stderr).run    # => Report, or raises Failed with a sentence
#
# One loop waits for the swarm's events, its end, signals and the next fault. INT, TERM or HUP end
# the run early, with the report; a second one doesn't wait for pending recoveries.
module Skep
  module CLI
    module Chaos
      class Runner
        SIGNALS = %w[INT TERM HUP].freeze
        SAME_SIGNAL = 0.05 # seconds: timeout(1) signals the process and its group
        SAMPLES = 300 # of the supervisor, in all
        CHECK_INTERVAL = 1.0 # seconds between two checks of what no event reports
        private_constant :SIGNALS, :SAME_SIGNAL, :SAMPLES, :CHECK_INTERVAL

        def initialize(schedule, target, out:)
          @schedule = schedule
          @target = target
          @out = out
          @faults = []
          @skipped = Hash.new(0)
        end

        def run
          set_up
          @loop.run
          report
        ensure
          tear_down
        end

        private

        def set_up
          @target.connect
          @injector = FaultInjector.new(@target, @schedule.random)
          refusals = @schedule.kinds.filter_map { |kind| @injector.refusal(kind) }
          raise Failed, refusals.join("; ") if refusals.any?

          @signals = Swarm::Runtime::SelfPipe.new(SIGNALS)
          @loop = OS::EventLoop.new
          @sampler = SupervisorSampler.new(@target.supervisor)
          begin_chaos
        end

        def tear_down
          @target.close
          [@loop&.method(:close), @signals&.method(:release)].compact.each(&:call)
        end

        def begin_chaos
          @out.puts("chaos for swarm #{@target.name} (pid #{@target.supervisor}), #{@schedule}; " \
                    "Ctrl-C ends it")
          @started_at = OS.now
          @loop.watch(@target.feed.to_io) { read_events }
          @loop.watch(@signals.to_io) { interrupt }
          @schedule.times.each do |at, kind|
            @loop.at(@started_at + at) { inject(kind) unless @settling }
          end
          @loop.at(@started_at + @schedule.seconds) { settle }
          sample
          check
        end

        # When the mold of a stopped node ends, the kernel continues the node: no recovery is due.
        def check
          stopped = @faults.select { |fault| fault.kind == :stop && fault.pending? }
          stopped.each { |fault| fault.recover("it continued") if @target.continued?(fault.pid) }
          finish_if_recovered
          @loop.after(CHECK_INTERVAL) { check }
        end

        def sample
          @sampler.sample
          @loop.after([@schedule.seconds / SAMPLES, 0.1].max) { sample }
        end

        def inject(kind)
          pending = @faults.select(&:pending?)
          fault = @injector.inject(kind, except: pending.filter_map(&:pid))
          fault ? @faults << fault : @skipped[kind] += 1
        rescue Skep::Error => e # the swarm refuses it, or has ended
          @failure ||= e.message
          settle
        end

        def read_events
          @target.feed.read.each do |event|
            @target.observe(event)
            @faults.each { |fault| fault.observe(event) unless fault.recovered? }
          end
          recover_scale if @injector.scaled?
          return end_early("the swarm ended, or sends no more events: #{@target.feed.error}") if
            @target.feed.ended?

          finish_if_recovered
        end

        def recover_scale
          @faults.each { |fault| fault.recover("so many ready") if fault.kind == :scale }
        end

        def interrupt
          now = OS.now
          @signals.take
          again = @settling && now - @interrupted_at.to_f > SAME_SIGNAL
          @interrupted_at = now
          again ? @loop.stop : settle
        end

        # No more faults; waits for pending recoveries, and until all spares wait again.
        def settle
          return if @settling

          @settling = true
          @injector.undo
          @loop.after(@schedule.recovery_timeout) { @loop.stop }
          finish_if_recovered
        rescue Skep::Error => e # the swarm has ended
          end_early(e.message)
        end

        def finish_if_recovered
          return if !@settling || @finishing
          return if @faults.any?(&:pending?) || !@target.spares_complete?

          @finishing = true
          @first_zombies = @target.zombies
          @loop.after(CHECK_INTERVAL) { @loop.stop }
        end

        def end_early(why)
          @ended = why.strip.delete_suffix(":")
          @loop.stop
        end

        def report
          @sampler.sample
          not_ready = @ended ? [] : nodes_not_ready
          zombies = (@first_zombies || @target.zombies) & @target.zombies
          Report.new(swarm: @target.name, schedule: @schedule, seconds: OS.now - @started_at,
                     faults: @faults, skipped: @skipped, lost_events: @target.feed.lost, zombies:,
                     not_ready:, samples: @sampler.samples, ended: @ended || @failure)
        end

        # A fault in a node that a change of scale removed counts as recovered.
        def nodes_not_ready
          nodes = @target.listed(@target.status)
          ids = nodes.map(&:id)
          @faults.each do |fault|
            removed = fault.node.is_a?(Integer) && !ids.include?(fault.node)
            fault.recover("its slot was removed") if removed
          end
          nodes.reject(&:well?).map { |node| "#{node} (#{node.state})" }
        rescue Skep::Error => e # the swarm has ended meanwhile
          [e.message]
        end
      end
    end
  end
end
