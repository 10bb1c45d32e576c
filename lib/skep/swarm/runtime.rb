# frozen_string_literal: true

# What every process of a swarm needs from the system.
#
# SelfPipe makes signals readable. OrphanGuard ends molds and nodes whose supervisor has died.
# SocketActivation passes systemd's sockets to nodes.
# EventBus, ErrorGuard and StateMachine serve the supervisor's components: they publish facts and
# bugs, and change state by a table.
module Skep
  class Swarm
    module Runtime
      # What happens in the supervisor. The component that owns a fact publishes it once; everything
      # that only observes subscribes, so that the publisher knows none of its observers.
      # Synchronous: each subscriber has run when `publish` returns. Subscribers to every event (the
      # log) run before those that named it; each kind runs in the order of subscription.
      #
      #   events = EventBus.new
      #   events.subscribe { |event| log(event.name, event.level, event.facts) }   # every event
      #   events.subscribe(:node_died, :node_exited) { |event| reap(event.subject) }
      #   events.publish(:node_ready, node, duration: 0.2)
      #   events.announce(:mold_loaded, mold, plain:)   # internal: only for those that named it
      #   events.unsubscribe(subscription)              # what `subscribe` has returned
      #   events.guard("timer") { … }   # a bug of skep's in it: supervisor_error
      #
      # The subject is a NodeProcess, a Slot, a Mold or nil; its `event_facts` (node, mold, pid) are
      # part of the event's facts. A name that a user's work has chosen is a String and reaches only
      # those that subscribed to every event. What must happen in a certain order is a call, not an
      # event.
      class EventBus
        Event = Struct.new(:name, :level, :subject, :facts)

        def initialize
          @every = []
          @named = {}
          @error_guard = ErrorGuard.new(self)
        end

        def subscribe(*names, &subscriber)
          @every += [subscriber] if names.empty?
          names.each { |name| @named[name] = [*@named[name], subscriber] }
          subscriber
        end

        # Takes effect with the next event.
        def unsubscribe(subscriber)
          @every -= [subscriber]
          @named.transform_values! { |subscribers| subscribers - [subscriber] }
          nil
        end

        # level: :debug, :info, :warn or :error. Facts that are nil are left out.
        def publish(name, subject = nil, level: :info, **facts)
          facts = { **(subject ? subject.event_facts : {}), **facts.compact }
          event = Event.new(name, level, subject, facts)
          @every.each { |subscriber| subscriber.call(event) }
          @named[name]&.each { |subscriber| subscriber.call(event) }
        end

        # Runs a callback of the supervisor (ErrorGuard#call).
        def guard(...) = @error_guard.call(...)

        def keep_running_after_errors = @error_guard.keep_running

        # Returns true if a callback has raised.
        def errors? = @error_guard.count.positive?

        # A fact for the supervisor's own components: only those that named it receive it, neither
        # the log nor a user's block.
        def announce(name, subject = nil, **facts)
          event = Event.new(name, nil, subject, facts)
          @named[name]&.each { |subscriber| subscriber.call(event) }
        end
      end

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

require "skep/swarm/runtime/error_guard"
require "skep/swarm/runtime/self_pipe"
require "skep/swarm/runtime/orphan_guard"
require "skep/swarm/runtime/socket_activation"
