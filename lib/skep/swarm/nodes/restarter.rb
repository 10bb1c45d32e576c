# frozen_string_literal: true

# Restarts the node of a slot after its exit: at once, after a backoff, or not at all.
#
#   restarter = Restarter.new(config, loop:, events:, slots:, boots:, spares:)
#   restarter.after(slot, node)     # the exit of the slot's node is recorded
#   restarter.restart_early(node)   # the node has died, and its exit status isn't known yet
#
# RestartPolicy decides, Restarter acts. If a spare is ready, it takes the slot; else a process is
# forked. spares: nil if the swarm has none. When all nodes have ended and none restarts, it
# announces `work_ended` with the outcome :done or :unclean, and with :gave_up on a crash loop that
# stops the swarm.
module Skep
  class Swarm
    module Nodes
      class Restarter
        # Minimum seconds before a node restarts that reported that it can't work. That is no crash,
        # so it restarts without limit.
        REFUSED_RETRY = 1.0
        HELPER_RETRY = 0.1
        # A node that ended by quiet is started by `resume` (NodePool#end_quiet). If it is started
        # before that, it ends again.
        QUIET_RETRY = 3600.0
        private_constant :REFUSED_RETRY, :HELPER_RETRY, :QUIET_RETRY

        attr_reader :policy

        def initialize(config, loop:, events:, slots:, boots:, spares:)
          @config = config
          @loop = loop
          @slots = slots
          @boots = boots
          @events = events
          @spares = spares
          @policy = RestartPolicy.new(config)
          events.subscribe(:node_ready, :spare_ready) do |event|
            clear_crash_loop_later(event.subject) if event.subject.slot.looping?
          end
        end

        def after(slot, node)
          return restart_beside_the_work(slot, node) if slot.helper? || slot.spare?
          return postpone(slot, node, delay(slot, REFUSED_RETRY)) if refused?(node)
          return @boots.later(slot, delay(slot, 0.0)) unless node.exit_status # it is a mold now
          return @boots.later(slot, QUIET_RETRY) if waits_for_resume?(node)

          case (decision = @policy.decide(exited(slot), OS.now))
          when :done then done(slot, node)
          when :give_up then give_up(slot, node)
          when 0.0 then launch(slot)
          else back_off(slot, node, decision)
          end
          @boots.start_next
        end

        def restart_early(node)
          return unless restarts_anyway?(node.slot, node)

          node.slot.lose
          launch(node.slot)
        end

        # Ends a slot's crash loop once its node has worked, or waited as a spare, for
        # restart_window.
        def clear_crash_loop_later(node)
          slot = node.slot
          node.watches << @loop.at(node.ready_at + @config.restart_window) do
            next unless node.slot == slot # it has left the spares for another slot

            slot.looping = false
            @events.publish(:crash_loop_ended, node)
          end
        end

        private

        # A helper or a spare has no work that could be done, or given up.
        def restart_beside_the_work(slot, node)
          seconds = @policy.delay(slot.deaths.times, OS.now)
          seconds.positive? ? back_off(slot, node, seconds) : @boots.later(slot, HELPER_RETRY)
        end

        def launch(slot) = @spares&.step_in(slot) || @boots.enqueue(slot)

        # Returns true if the slot restarts at once whatever the exit status of this node.
        def restarts_anyway?(slot, node)
          slot.running? && slot.node == node && node.ready? && node.reason.nil? && !node.quiet? &&
            @config.restart == :always && @config.never_restart_on.nil? &&
            @policy.at_once?(slot.deaths.times("work"), OS.now)
        end

        def waits_for_resume?(node) = node.ended_by_quiet? && @config.restart == :always

        def refused?(node) = node.refused? && @config.restart != :never

        def exited(slot)
          RestartPolicy::Exited.new(deaths: slot.deaths.times, clean: slot.clean?,
                                    exitstatus: slot.last_exit&.exitstatus)
        end

        # Returns the policy's backoff, or the minimum if that is longer.
        def delay(slot, least) = [@policy.delay(slot.deaths.times, OS.now), least].max

        def back_off(slot, node, seconds)
          crash_loop(slot, node) unless slot.looping?
          slot.looping = true
          postpone(slot, node, seconds)
        end

        def crash_loop(slot, node)
          @events.publish(:crash_loop, node, level: :error, deaths: slot.deaths.times.size,
                                        phase: node.kind_of_death, duration: @config.restart_window)
        end

        def postpone(slot, node, seconds)
          @events.publish(:node_waiting, node, level: :warn, retry_in: seconds.round(3),
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

      # Decides whether and when an exited node restarts. Pure: takes facts and a time, returns a
      # decision.
      #
      #   policy = RestartPolicy.new(config)
      #   policy.decide(Exited.new(deaths: [1.0, 2.0], clean: false, exitstatus: nil), 2.0)
      #   # => 0.0: restart at once; or the seconds to wait
      #   # => :done: don't restart
      #   # => :give_up: a crash loop with on_crash_loop: :stop
      #   policy.at_once?([1.0], 2.0)   # returns true if one more exit would be restarted at once
      #
      # The first `max_restarts` exits within `restart_window` seconds are restarted at once (OTP's
      # intensity and period). The next ones wait 0.1 s x 2^k, at most 30 s, with a jitter of 20% so
      # that nodes don't restart in lockstep.
      class RestartPolicy
        # deaths: monotonic times of the slot's exits of the last one's kind (at boot or at work),
        # including the last. clean: exited with status 0, without a request to stop.
        Exited = Struct.new(:deaths, :clean, :exitstatus, keyword_init: true)

        FIRST = 0.1
        LONGEST = 30.0
        JITTER = 0.2
        private_constant :FIRST, :LONGEST, :JITTER

        def initialize(config, random: Random)
          @config = config
          @random = random
        end

        def decide(exited, now)
          return :done unless restart?(exited)

          delay = delay(exited.deaths, now)
          delay.positive? && @config.on_crash_loop == :stop ? :give_up : delay
        end

        # Returns the seconds to wait before the next start; 0.0 means at once.
        def delay(deaths, now)
          excess = recent(deaths, now) - @config.max_restarts
          excess.positive? ? backoff(excess - 1) : 0.0
        end

        # Returns true if one more exit, now, would be restarted at once.
        def at_once?(deaths, now)
          recent(deaths, now) < @config.max_restarts
        end

        private

        # Returns how many of the exits, oldest first, are within restart_window.
        def recent(deaths, now)
          first = deaths.bsearch_index { |time| time > now - @config.restart_window }
          first ? deaths.size - first : 0
        end

        def restart?(exited)
          return false if @config.never_restart_on&.include?(exited.exitstatus)

          @config.restart == :always || (@config.restart == :on_failure && !exited.clean)
        end

        def backoff(steps)
          exact = [FIRST * (2**[steps, 20].min), LONGEST].min
          [exact * (1 + (JITTER * ((2 * @random.rand) - 1))), LONGEST].min
        end
      end
    end
  end
end
