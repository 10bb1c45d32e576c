# frozen_string_literal: true

# Decides what is to be done for a slot: when a process is launched for it, and when one makes way.
# Pure: takes a slot's facts, a time and a budget, returns an action. A stop of the whole swarm
# (NodePool#stop) and kills of single processes (hung, boot_timeout) don't wait for it.
#
#   SlotPolicy.next(slot, OS.now, budget)
#   # => :launch                a process for an empty slot
#   # => :launch_successor      a second one, that is to take over
#   # => [:stop, process]       ask it to end
#   # => [:kill, process]       end it
#   # => [:wait, until]         nothing now; look again at that time, or at the next fact
#   # => [:wait, :room]         nothing now; look again when there is room for another boot
#   # => [:wait, :turn]         nothing now; look again when another slot has been replaced
#
# NodePool#reconcile asks after each fact about the slot, and does it. No harm is done if a fact
# comes late or twice, or if a look is missed: the next look finds what is to be done.
#
# What happened elsewhere is in the facts: a crash left the slot empty, with the end of its backoff
# in `not_before` (RestartPolicy); a restart, a reload or a refork raised the generation that it
# wants; a limit of memory or a lifetime is a reason to replace its process; a scale-down, a stop
# and finished work mean that it wants none.
module Skep
  class Swarm
    module Nodes
      module SlotPolicy
        # A slot with one process, or none, by what it wants.
        ALONE = {
          #              none           one       a new one
          empty:       { none: :wait, one: :launch, new: :launch },
          in_use:      { none: :stop, one: :wait, new: :launch_successor },
          stopped_now: { none: :wait, one: :wait, new: :launch_successor }, # its memory is needed
          ending:      { none: :wait, one: :wait, new: :wait }
        }.freeze

        # A slot that wants a process and has one with a successor, by what the successor does. Of
        # a slot that wants none, both are stopped, a rejected successor too.
        WITH_SUCCESSOR = {
          #              booting       ready         ending        rejected
          in_use:      { booting: :wait, ready: :stop, ending: :wait, rejected: :kill },
          stopped_now: { booting: :wait, ready: :wait, ending: :wait, rejected: :kill },
          ending:      { booting: :wait, ready: :wait, ending: :wait, rejected: :kill }
        }.freeze

        class << self
          def next(slot, now, budget)
            overdue = slot.nodes.find { |process| process.overdue? && !process.lost? }
            return [:kill, overdue] if overdue
            return alone(slot, now, budget) unless slot.successor
            return stop_all(slot) unless slot.wanted?

            with_successor(slot)
          end

          # What is done with the process that holds the slot.
          def current(slot)
            process = slot.node or return :empty
            return :in_use unless process.lost? || process.state == :stopping

            process.replace_for && process.reason && !process.lost? ? :stopped_now : :ending
          end

          def wish(slot)
            return :none unless slot.wanted?

            slot.reason_to_replace ? :new : :one
          end

          def successor(slot)
            process = slot.successor
            return :rejected if process.rejected? && !process.killed? && !process.lost?
            return :ending if process.reason || process.lost? || process.state == :stopping

            process.ready? && !process.stepping_in? ? :ready : :booting
          end

          private

          def alone(slot, now, budget)
            situation = current(slot)
            case ALONE.fetch(situation).fetch(wish(slot))
            when :launch then launch(slot, now, budget)
            when :launch_successor then launch_successor(slot, now, budget, situation)
            when :stop then [:stop, slot.node]
            else [:wait, nil]
            end
          end

          def launch(slot, now, budget)
            return [:wait, slot.not_before] if slot.not_before && slot.not_before > now

            budget.launch?(slot, now) ? :launch : [:wait, :room]
          end

          def launch_successor(slot, now, budget, situation)
            return [:wait, :room] unless budget.boot?(slot, now)

            situation == :stopped_now || budget.surge?(slot) ? :launch_successor : [:wait, :turn]
          end

          def with_successor(slot)
            case WITH_SUCCESSOR.fetch(current(slot)).fetch(successor(slot))
            when :stop then [:stop, slot.node]
            when :kill then [:kill, slot.successor]
            else [:wait, nil]
            end
          end

          def stop_all(slot)
            process = slot.nodes.find { |one| !one.lost? && one.state != :stopping }
            process ? [:stop, process] : [:wait, nil]
          end
        end
      end
    end
  end
end
