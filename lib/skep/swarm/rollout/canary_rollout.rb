# frozen_string_literal: true

# A new mold beside the one there is, on trial: one node of it shows whether it works, then the
# others roll over; else it is dropped, and the old one goes on until its last node has gone.
#
#   trial = Reload.new(mold_pool, supervisor) { |why| … }   # nil: all nodes are of the new mold
#   trial.ready                                             # by MoldMessages: its mold can fork
#   trial.drop(why)                                         # it is refused, or has ended
#
# Where the mold comes from a Reload and a Refork know.
module Skep
  class Swarm
    module Rollout
      class CanaryRollout
        attr_reader :mold #: Molds::Mold?

        #: (Molds::MoldPool, Supervisor) { (String?) -> void } -> void
        def initialize(mold_pool, supervisor, &done)
          @mold_pool = mold_pool
          @supervisor = supervisor
          @node_pool = supervisor.node_pool
          @config = supervisor.config
          @done = done
        end

        # The file's word, where its mold loads one. False: it can't take the place of what runs.
        def loaded(_plain) = true #: (Hash[String, untyped]) -> bool

        def ready #: () -> void
          slot = @node_pool.slots.select(&:live?).min_by { |one| @node_pool.load(one) }
          return adopt unless slot

          @node_pool.replace(slot, self.class::REASON, mold: @mold) do |replaced|
            next ready if slot.retired? # scaled away meanwhile: try the new mold in another slot

            replaced || !slot.live? ? judge(slot) : drop(stillborn(slot))
          end
        end

        def drop(why) #: (String) -> void
          return if @over

          take_back
          @mold_pool.retire(@mold) if @mold&.live?
          over(why)
        end

        private

        # What came of it makes way, so that it can go.
        def take_back
          slots = @node_pool.slots.select { |slot| slot.live? && slot.node.mold == @mold }
          slots.each { |slot| @node_pool.replace(slot, self.class::REASON) }
        end

        # The first node of the new mold holds its slot.
        def judge(_slot) = adopt

        def adopt
          return if @over

          old = @node_pool.mold
          @node_pool.mold = @mold
          @mold_pool.adopted(@mold)
          adopted
          @mold_pool.retire(old) if old
          RollingRestart.new(@node_pool, self.class::REASON, mold: @mold) do |failed|
            over(failed && left_behind(failed))
          end.start
        end

        # Its mold has taken the place of the old one.
        def adopted = nil

        def stillborn(slot)
          ["the first node of the new mold could not begin", slot.failure].compact.join(": ")
        end

        def left_behind(slot)
          "node #{slot.label} could not be replaced, and works on as it is: try again"
        end

        def over(why)
          return if @over

          @over = true
          @done.call(why)
        end
      end
    end
  end
end
