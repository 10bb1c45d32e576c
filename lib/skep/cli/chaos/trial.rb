# frozen_string_literal: true

# One run: does what the plan says when it is due, hears the answers, and reports.
#
#   Trial.new(plan, target, out: $stderr).run    # => Report, or raises Failed with a sentence
#
# One loop waits for the swarm's events, its end, signals and the next deed. INT, TERM or HUP end it
# early, with the report; a second one without waiting for answers that are still owed.
module Skep
  module CLI
    class Chaos
      class Trial
        SIGNALS = %w[INT TERM HUP].freeze
        SAME_SECONDS = 0.05 # so soon it is the same signal: timeout(1) sends to process and group
        SAMPLES = 300 # of the supervisor's vitals, in all
        LOOK = 1.0 # seconds between two looks at what tells of no event
        private_constant :SIGNALS, :SAME_SECONDS, :SAMPLES, :LOOK

        def initialize(plan, target, out:) #: (Plan, Target, out: IO) -> void
          @plan = plan
          @target = target
          @out = out
          @deeds = []
          @missed = Hash.new(0)
        end

        def run #: () -> Report
          open
          @loop.run
          report
        ensure
          close
        end

        private

        def open
          @target.open
          @harm = Harm.new(@target, @plan.random)
          refusals = @plan.kinds.filter_map { |kind| @harm.refusal(kind) }
          raise Failed, refusals.join("; ") if refusals.any?

          @signals = Swarm::Runtime::SelfPipe.new(SIGNALS)
          @loop = OS::EventLoop.new
          @vitals = Vitals.new(@target.supervisor)
          begin_chaos
        end

        def close
          @target.close
          [@loop&.method(:close), @signals&.method(:release)].compact.each(&:call)
        end

        def begin_chaos
          @out.puts("chaos for swarm #{@target.name} (pid #{@target.supervisor}), #{@plan}; " \
                    "Ctrl-C ends it")
          @began = OS.now
          @loop.watch(@target.feed.to_io) { hear }
          @loop.watch(@signals.to_io) { interrupt }
          @plan.deeds.each { |at, kind| @loop.at(@began + at) { strike(kind) unless @settling } }
          @loop.at(@began + @plan.seconds) { settle }
          sample
          look
        end

        # The end of a stopped node's mold lets it go on: then there is nothing to answer.
        def look
          stopped = @deeds.select { |deed| deed.kind == :stop && deed.owed? }
          stopped.each { |deed| deed.answer("it went on") if @target.resumed?(deed.pid) }
          finish_if_answered
          @loop.after(LOOK) { look }
        end

        def sample
          @vitals.take
          @loop.after([@plan.seconds / SAMPLES, 0.1].max) { sample }
        end

        def strike(kind)
          owed = @deeds.select(&:owed?)
          deed = @harm.do(kind, sparing: owed.filter_map(&:pid))
          deed ? @deeds << deed : @missed[kind] += 1
        rescue Skep::Error => e # the swarm has something against it, or has ended
          @failure ||= e.message
          settle
        end

        def hear
          @target.feed.take.each do |event|
            @target.hear(event)
            @deeds.each { |deed| deed.hear(event) unless deed.answered? }
          end
          scaled if @harm.scaled?
          return over("the swarm ended, or told us no more: #{@target.feed.error}") if
            @target.feed.ended?

          finish_if_answered
        end

        def scaled
          @deeds.each { |deed| deed.answer("so many ready") if deed.kind == :scale }
        end

        def interrupt
          now = OS.now
          @signals.take
          again = @settling && now - @interrupted_at.to_f > SAME_SECONDS
          @interrupted_at = now
          again ? @loop.stop : settle
        end

        # No more harm; what is owed is waited for.
        def settle
          return if @settling

          @settling = true
          @harm.undo
          @loop.after(@plan.patience) { @loop.stop }
          finish_if_answered
        rescue Skep::Error => e # it has ended
          over(e.message)
        end

        def finish_if_answered
          return if !@settling || @finishing || @deeds.any?(&:owed?)

          @finishing = true
          @first_zombies = @target.zombies
          @loop.after(LOOK) { @loop.stop }
        end

        def over(why)
          @ended = why.strip.delete_suffix(":")
          @loop.stop
        end

        def report
          @vitals.take
          sick = @ended ? [] : account
          zombies = (@first_zombies || @target.zombies) & @target.zombies
          Report.new(swarm: @target.name, plan: @plan, seconds: OS.now - @began, deeds: @deeds,
                     missed: @missed, lost: @target.feed.lost, zombies:, sick:,
                     samples: @vitals.samples, ended: @ended || @failure)
        end

        # Nodes that aren't ready. What was done to one that a change of scale took is answered.
        def account
          nodes = @target.status["nodes"]
          ids = nodes.map { |node| node["id"] }
          @deeds.each do |deed|
            deed.answer("its slot went") if deed.node.is_a?(Integer) && !ids.include?(deed.node)
          end
          nodes.reject { |node| %w[ready quiet].include?(node["state"]) }
               .map { |node| "node #{node["id"]} (#{node["state"]})" }
        rescue Skep::Error => e # it has ended meanwhile
          [e.message]
        end
      end
      private_constant :Trial
    end
  end
end
