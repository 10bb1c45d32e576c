# frozen_string_literal: true

# What follows a node's end in its slot: the next process at once, after a while, or none.
#
#   restarter = Restarter.new(config, slots:, boots:, spares:, events:, over: ->(outcome) { … })
#   restarter.after(slot, node)
#   restarter.restart_early(node)   # it is gone, how isn't known yet: who follows may begin
#   restarter.clear_crash_loop_later(node)   # it is ready: once it has outlived the window
#
# RestartPolicy judges; this does. A spare steps in where one waits (spares: nil if there are to be
# none), else a process is forked. `over` is called with :done or :unclean when all work has ended
# by itself, and with :gave_up on a crash loop that is to stop the swarm.
module Skep
  class Swarm
    module Nodes
      class Restarter
        # Seconds, where a node said that it can't begin: no crash, so it is tried for ever.
        REFUSED_RETRY = 1.0
        HELPER_RETRY = 0.1
        private_constant :REFUSED_RETRY, :HELPER_RETRY

        def initialize(config, loop:, slots:, boots:, events:, over:, spares:)
          @config = config
          @loop = loop
          @slots = slots
          @boots = boots
          @events = events
          @over = over
          @spares = spares
          @policy = Health::RestartPolicy.new(config)
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

          node.slot.follow
          fill(node.slot)
        end

        def clear_crash_loop_later(node) #: (NodeProcess) -> void
          return unless node.slot.looping?

          node.watches << @loop.at(node.ready_at + @config.restarts_within) do
            node.slot.looping = false
            @events.publish(:crash_loop_over, node)
          end
        end

        private

        def fill(slot) = @spares&.step_in(slot) || @boots.enqueue(slot)

        # Is it followed at once, however it ended?
        def certain?(slot, node)
          slot.nodes == [node] && node.ready? && node.reason.nil? && @config.restart == :always &&
            @config.restart_never_status.nil? &&
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
          slot.done
          return if @slots.any? { |other| other.live? || other.waiting? }

          clean = @slots.all? { |other| other.last_exit.nil? || other.clean? }
          @over.call(clean ? :done : :unclean)
        end

        def give_up(slot, node)
          crash_loop(slot, node)
          @over.call(:gave_up)
        end
      end
    end
  end
end
