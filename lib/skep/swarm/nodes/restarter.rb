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

        def initialize(config, loop:, events:, slots:, boots:, spares:)
          @config = config
          @loop = loop
          @slots = slots
          @boots = boots
          @events = events
          @spares = spares
          @policy = Health::RestartPolicy.new(config)
          events.subscribe(:node_ready) { |event| clear_crash_loop_later(event.subject) }
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
          return unless node.slot.looping?

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
            @policy.at_once?(slot.deaths.times, OS.now)
        end

        def refused?(slot) = slot.refusal && @config.restart != :never

        def ending(slot)
          Health::RestartPolicy::Exited.new(deaths: slot.deaths.times, clean: slot.clean?,
                                    exitstatus: slot.last_exit.exitstatus)
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
    end
  end
end
