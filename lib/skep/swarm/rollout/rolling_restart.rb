# frozen_string_literal: true

# All nodes renewed, one at a time, each new one ready before its predecessor goes.
#
#   RollingRestart.new(node_pool, "restart") { |failed_slot| … }.start   # nil: all are new
#
# Those with nothing in hand come first. It ends at the first that can't be replaced: what is wrong
# with it would be wrong with the others. A slot whose process has ended meanwhile is new anyway.
module Skep
  class Swarm
    module Rollout
      class RollingRestart
        # mold: whose nodes are new already; else those that begin from now on are. slots: only
        # these.
        #: (Nodes::NodePool, String, ?mold: Molds::Mold?, ?slots: Array[Nodes::Slot]?)
        #:   { (Nodes::Slot?) -> void } -> void
        def initialize(node_pool, reason, mold: nil, slots: nil, &done)
          @node_pool = node_pool
          @reason = reason
          @mold = mold
          @slots = slots || node_pool.all
          @done = done
        end

        def start #: () -> self
          @began = OS.now
          @left = by_load
          step
          self
        end

        private

        def by_load
          @slots.sort_by { |slot| [slot.helper? ? 1 : 0, @node_pool.load(slot), slot.id || 0] }
        end

        def step
          @left.shift while @left.any? && renewed?(@left.first)
          slot = @left.shift or return @done.call(nil)
          @node_pool.replace(slot, @reason) do |replaced|
            next @done.call(slot) unless replaced || (renewed?(slot) && !@node_pool.stopping?)

            step
          end
        end

        # Returns true if the slot is removed, if its next process will be new, or if the one that
        # it has is.
        def renewed?(slot)
          return true if slot.retired? || !slot.live?

          @mold ? slot.node.mold == @mold : slot.node.asked_at >= @began
        end
      end
    end
  end
end
