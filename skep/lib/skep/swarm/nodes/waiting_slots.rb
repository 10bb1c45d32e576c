# frozen_string_literal: true

# The slots that wait for the budget, by what they wait for. When the budget has something again,
# only the slots that can use it are looked at: with 1,000 slots that are to be replaced one by one,
# each replacement would otherwise look at all of them.
#
#   waiting = WaitingSlots.new(budget)
#   waiting.put(slot, :room)    # it waits for room to boot; :turn: to be replaced; nil: for neither
#   waiting.each_due(spares: -> { … }) { |slot| … }   # as long as the budget has what they wait for
#
# Slots without a process come first, then those that have waited longest.
module Skep
  class Swarm
    module Nodes
      class WaitingSlots
        def initialize(budget)
          @budget = budget
          @slots = %i[room own_reason rollout].to_h { |kind| [kind, {}.compare_by_identity] }
        end

        def put(slot, what)
          kind = what == :turn ? @budget.kind(slot) : what
          @slots.each { |one, slots| slots.delete(slot) unless one == kind }
          @slots.fetch(kind)[slot] = true if kind
        end

        def any? = @slots.each_value.any?(&:any?)
        def clear = @slots.each_value(&:clear)

        # spares: returns true if a spare waits, which a slot without a process needs no room for.
        def each_due(spares:, &block)
          live, empty = @slots[:room].keys.partition(&:live?)
          each_while(:room, empty, -> { room? || spares.call }, &block)
          each_while(:room, live, -> { room? }, &block)
          %i[own_reason rollout].each do |kind|
            due = -> { @budget.turn?(kind) && room? }
            each_while(kind, @slots[kind].keys, due, &block) if due.call
          end
        end

        private

        def room? = @budget.room?(OS.now)

        # What is done for one may change what another waits for.
        def each_while(kind, slots, due)
          slots.each do |slot|
            break unless due.call

            yield slot if @slots[kind].key?(slot)
          end
        end
      end
    end
  end
end
