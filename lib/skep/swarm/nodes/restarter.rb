# frozen_string_literal: true

# What follows a node's end in its slot: the next process at once, after a while, or none.
#
#   restarter = Restarter.new(config, loop:, events:, slots:, boots:, spares:)
#   restarter.after(slot, node)     # its exit is recorded
#   restarter.restart_early(node)   # it has died: launch the next, if that is certain
#
# RestartPolicy decides; this acts on it. A spare steps in where one waits (spares: nil if there are
# to be none), else a process is forked. `work_ended` is announced with the outcome :done or
# :unclean when all work has ended by itself, and :gave_up on a crash loop that is to stop the
# swarm.
module Skep
  class Swarm
    module Nodes
      class Restarter
        # Seconds, where a node said that it can't begin: no crash, so it is tried for ever.
        REFUSED_RETRY = 1.0
        HELPER_RETRY = 0.1
        private_constant :REFUSED_RETRY, :HELPER_RETRY

        attr_reader :policy #: RestartPolicy

        def initialize(config, loop:, events:, slots:, boots:, spares:)
          @config = config
          @loop = loop
          @slots = slots
          @boots = boots
          @events = events
          @spares = spares
          @policy = RestartPolicy.new(config)
          events.subscribe(:node_ready) do |event|
            clear_crash_loop_later(event.subject) if event.subject.slot.looping?
          end
        end

        def after(slot, node) #: (Slot, NodeProcess) -> void
          return @boots.later(slot, delay(slot, HELPER_RETRY)) if slot.helper? || slot.spare?
          return postpone(slot, node, delay(slot, REFUSED_RETRY)) if refused?(slot)

          case (verdict = @policy.verdict(ending(slot), OS.now))
          when :done then done(slot, node)
          when :give_up then give_up(slot, node)
          when 0.0 then fill(slot)
          else back_off(slot, node, verdict)
          end
          @boots.start_next
        end

        def restart_early(node) #: (NodeProcess) -> void
          return unless certain?(node.slot, node)

          node.slot.lose
          fill(node.slot)
        end

        # A slot that was in a crash loop isn't once its node has worked for restarts_within.
        def clear_crash_loop_later(node) #: (NodeProcess) -> void
          node.watches << @loop.at(node.ready_at + @config.restarts_within) do
            node.slot.looping = false
            @events.publish(:crash_loop_over, node)
          end
        end

        private

        def fill(slot) = @spares&.step_in(slot) || @boots.enqueue(slot)

        # Is the next process launched at once, however this one ended?
        def certain?(slot, node)
          slot.running? && slot.node == node && node.ready? && node.reason.nil? &&
            @config.restart == :always && @config.restart_never_status.nil? &&
            @policy.at_once?(slot.deaths.times("work"), OS.now)
        end

        def refused?(slot) = slot.refusal && @config.restart != :never

        def ending(slot)
          RestartPolicy::Exited.new(deaths: slot.deaths.times, clean: slot.clean?,
                                    exitstatus: slot.last_exit&.exitstatus)
        end

        # How long the policy lets a slot wait, and at least so many seconds.
        def delay(slot, least) = [@policy.delay(slot.deaths.times, OS.now), least].max

        def back_off(slot, node, seconds)
          crash_loop(slot, node) unless slot.looping?
          slot.looping = true
          postpone(slot, node, seconds)
        end

        def crash_loop(slot, node)
          @events.publish(:crash_loop, node, level: :error, deaths: slot.deaths.times.size,
                                        at: node.kind_of_death, seconds: @config.restarts_within)
        end

        def postpone(slot, node, seconds)
          @events.publish(:node_waiting, node, level: :warn, seconds: seconds.round(3),
                                          deaths: slot.deaths.times.size)
          @boots.later(slot, seconds)
        end

        def done(slot, node)
          @events.publish(:node_finished, node)
          slot.finish
          return if @slots.any? { |other| other.live? || other.waiting? }

          clean = @slots.all? { |other| other.last_exit.nil? || other.clean? }
          @events.announce(:work_ended, outcome: clean ? :done : :unclean)
        end

        def give_up(slot, node)
          crash_loop(slot, node)
          @events.announce(:work_ended, outcome: :gave_up)
        end
      end

      # Judges whether and when a node that ended starts again. Pure: facts and a time in, a verdict
      # out.
      #
      #   policy = RestartPolicy.new(config)
      #   policy.verdict(Exited.new(deaths: [1.0, 2.0], clean: false, exitstatus: nil), 2.0)
      #   # => 0.0: at once, or more seconds to wait
      #   # => :done: it isn't to start again
      #   # => :give_up: a crash loop, on_crash_loop: :stop
      #   policy.at_once?([1.0], 2.0)   # would one more death be answered at once?
      #
      # `restarts` endings within `restarts_within` seconds are replaced at once; from the next on
      # it waits 0.1 s x 2^k, give or take 20% so that nodes don't march in step, at most 30 s.
      # (OTP's intensity and period.)
      class RestartPolicy
        # deaths: monotonic times of this node's endings, the last one included;
        # clean: it ended of its own will, status 0.
        Exited = Struct.new(:deaths, :clean, :exitstatus, keyword_init: true)

        FIRST = 0.1
        LONGEST = 30.0
        JITTER = 0.2
        private_constant :FIRST, :LONGEST, :JITTER

        def initialize(config, random: Random) #: (Definition::Config, ?random: untyped) -> void
          @config = config
          @random = random
        end

        def verdict(ending, now) #: (Exited, Float) -> (Float | :done | :give_up)
          return :done unless again?(ending)

          delay = delay(ending.deaths, now)
          delay.positive? && @config.on_crash_loop == :stop ? :give_up : delay
        end

        # How long to wait before the next start; 0.0 is at once.
        def delay(deaths, now) #: (Array[Float], Float) -> Float
          excess = recent(deaths, now) - @config.restarts
          excess.positive? ? backoff(excess - 1) : 0.0
        end

        # Would one more death, now, be answered at once?
        def at_once?(deaths, now) #: (Array[Float], Float) -> bool
          recent(deaths, now) < @config.restarts
        end

        private

        # How many of the deaths, oldest first, still count.
        def recent(deaths, now)
          first = deaths.bsearch_index { |time| time > now - @config.restarts_within }
          first ? deaths.size - first : 0
        end

        def again?(ending)
          return false if @config.restart_never_status&.include?(ending.exitstatus)

          @config.restart == :always || (@config.restart == :on_failure && !ending.clean)
        end

        def backoff(steps)
          exact = [FIRST * (2**[steps, 20].min), LONGEST].min
          [exact * (1 + (JITTER * ((2 * @random.rand) - 1))), LONGEST].min
        end
      end
    end
  end
end
