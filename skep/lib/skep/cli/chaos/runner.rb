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
        SAMPLES = 300 # of the supervisor, in all
        CHECK_INTERVAL = 1.0 # seconds between two checks of what no event reports
        private_constant :SIGNALS, :SAMPLES, :CHECK_INTERVAL

        def initialize(schedule, target, out:)
          @schedule = schedule
          @target = target
          @out = out
          @faults = []
          @skipped = Hash.new(0)
          @samples = []
        end

        def run
          @target.connect
          refusals = @schedule.kinds.filter_map { |kind| @target.refusal(kind) }
          raise Failed, refusals.join("; ") if refusals.any?

          @signals = Swarm::Runtime::SelfPipe.new(SIGNALS)
          @stops = Swarm::Runtime::SelfPipe::RepeatedStop.new
          @loop = OS::EventLoop.new(guard: method(:guard))
          begin_chaos
          @loop.run
          report
        ensure
          @target.close
          @loop&.close
          @signals&.release
        end

        private

        def begin_chaos
          @out.puts("chaos for swarm #{@target.name} (pid #{@target.supervisor}), #{@schedule}; " \
                    "Ctrl-C ends it")
          @started_at = OS.now
          @loop.watch(@target.feed.to_io) { read_events }
          @loop.watch(@signals) { @signals.take_with_times.each { |one| interrupt(*one) } }
          @schedule.times.each do |at, kind|
            @loop.at(@started_at + at) { inject(kind) unless @settling }
          end
          @loop.at(@started_at + @schedule.seconds) { settle }
          sample
          check
        end

        def sample
          take_sample
          @loop.after([@schedule.seconds / SAMPLES, 0.1].max) { sample }
        end

        # The supervisor's descriptors and private memory, unless it has ended or is another user's.
        def take_sample
          pid = @target.supervisor
          bytes = OS::Memory.of(pid)&.uss or return
          descriptors = Dir.children("/proc/#{pid}/fd").size
          @samples << Report::Sample.new((OS.now - @started_at).round(1), descriptors, bytes)
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES
          nil
        end

        # When the mold of a stopped node ends, the kernel continues the node: no recovery is due.
        def check
          @faults.each do |fault|
            next unless fault.kind == :stop && fault.pending?

            fault.recover("it continued") if @target.running?(fault.pid)
          end
          finish_if_recovered
          @loop.after(CHECK_INTERVAL) { check }
        end

        def inject(kind)
          fault = @target.inject(kind, except: @faults.select(&:pending?).filter_map(&:pid))
          fault ? @faults << fault : @skipped[kind] += 1
        end

        def read_events
          @target.feed.read.each do |event|
            @faults.each { |fault| fault.observe(event) unless fault.recovered? }
          end
          return end_early("the swarm ended, or sends no more events: #{@target.feed.error}") if
            @target.feed.ended?

          recover_scale
          finish_if_recovered
        end

        def recover_scale
          pending = @faults.select { |fault| fault.kind == :scale && fault.pending? }
          return if pending.empty? || !@target.scaled?(@target.slots)

          pending.each { |fault| fault.recover("so many ready") }
        end

        def interrupt(name, at)
          return if @stops.of(name, at) == :same

          @settling ? @loop.stop : settle
        end

        # No more faults; waits for pending recoveries, and until all spares wait again.
        def settle
          return if @settling

          @settling = true
          @target.undo
          @loop.after(@schedule.recovery_timeout) { @loop.stop }
          finish_if_recovered
        end

        def finish_if_recovered
          return if !@settling || @finishing || @faults.any?(&:pending?)
          return unless @target.slots.reject(&:node?).all?(&:well?)

          @finishing = true
          @first_zombies = @target.zombies
          @loop.after(CHECK_INTERVAL) { @loop.stop }
        end

        # Ends the run when the swarm refuses a fault, or has ended.
        def guard(_kind)
          yield
          nil
        rescue Skep::Error => e
          end_early(e.message)
        end

        def end_early(why)
          @ended ||= why.strip.delete_suffix(":")
          @loop.stop
          nil
        end

        def report
          take_sample
          zombies = @target.zombies
          zombies &= @first_zombies if @first_zombies
          Report.new(swarm: @target.name, schedule: @schedule, seconds: OS.now - @started_at,
                     faults: @faults, skipped: @skipped, lost_events: @target.feed.lost, zombies:,
                     not_ready: @ended ? [] : not_ready, samples: @samples, ended: @ended)
        end

        # A fault in a node that a change of scale removed counts as recovered.
        def not_ready
          slots = @target.slots
          in_nodes = @faults.select { |fault| fault.slot.is_a?(Integer) }
          removed = in_nodes.reject { |fault| slots.map(&:id).include?(fault.slot) }
          removed.each { |fault| fault.recover("its slot was removed") }
          slots.reject(&:well?).map { |slot| "#{slot} (#{slot.state})" }
        rescue Skep::Error => e # the swarm has ended meanwhile
          [e.message]
        end
      end
    end
  end
end
