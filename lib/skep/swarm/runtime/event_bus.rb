# frozen_string_literal: true

# What happens in the supervisor. The component that owns a fact publishes it once; everything that
# only observes subscribes, so that the publisher knows none of its observers. Synchronous: each
# subscriber has run when `publish` returns, in the order of subscription.
#
#   events = EventBus.new
#   events.subscribe { |event| log(event.name, event.level, event.facts) }   # every event
#   events.subscribe(:node_died, :node_exited) { |event| reap(event.subject) }
#   events.publish(:node_ready, node, seconds: 0.2)
#   events.announce(:mold_loaded, mold, plain:)   # internal: those that named it hear it
#   events.unsubscribe(subscription)              # what `subscribe` has returned
#
# The subject is a NodeProcess, a Slot, a Mold or nil; its `event_facts` (node, mold, pid) are part
# of the event's facts. A name that a user's work has chosen is a String and reaches only those that
# subscribed to every event. What must happen in a certain order is a call, not an event.
module Skep
  class Swarm
    module Runtime
      class EventBus
        Event = Struct.new(:name, :level, :subject, :facts)

        def initialize #: () -> void
          @every = []
          @named = {}
        end

        #: (*Symbol) { (Event) -> void } -> Proc
        def subscribe(*names, &subscriber)
          @every += [subscriber] if names.empty?
          names.each { |name| @named[name] = [*@named[name], subscriber] }
          subscriber
        end

        # Takes effect with the next event.
        def unsubscribe(subscriber) #: (Proc) -> void
          @every -= [subscriber]
          @named.transform_values! { |subscribers| subscribers - [subscriber] }
        end

        # level: :debug, :info, :warn or :error. Facts that are nil are left out.
        #: (Symbol | String, ?untyped, ?level: Symbol, **untyped) -> void
        def publish(name, subject = nil, level: :info, **facts)
          facts = { **(subject ? subject.event_facts : {}), **facts.compact }
          event = Event.new(name, level, subject, facts)
          @every.each { |subscriber| subscriber.call(event) }
          @named[name]&.each { |subscriber| subscriber.call(event) }
        end

        # A fact for the supervisor's own components: only those that named it hear it, so neither
        # the log nor a user's block does.
        #: (Symbol, ?untyped, **untyped) -> void
        def announce(name, subject = nil, **facts)
          event = Event.new(name, nil, subject, facts)
          @named[name]&.each { |subscriber| subscriber.call(event) }
        end
      end
    end
  end
end
