# frozen_string_literal: true

# A state that changes by a table only. The class has TRANSITIONS, { state => { event => next
# } }, and starts with @state set to one of its keys.
#
#   class Door
#     include StateMachine
#     TRANSITIONS = { open: { shut: :closed }, closed: { open: :open } }.freeze
#     def initialize = @state = :closed
#     def open = change(:open)
#   end
#
# An event that the table doesn't list for the current state is a bug: it raises
# StateMachine::Impossible. docs/internals/states.md is generated from these tables.
module Skep
  class Swarm
    module Runtime
      module StateMachine
        # The table has no such transition.
        class Impossible < RuntimeError
          def initialize(owner, state, event)
            super("#{owner.class}: #{event} is impossible in state #{state}")
          end
        end

        attr_reader :state

        private

        def change(event)
          @state = self.class::TRANSITIONS.fetch(@state).fetch(event) do
            raise Impossible.new(self, @state, event)
          end
        end
      end
    end
  end
end
