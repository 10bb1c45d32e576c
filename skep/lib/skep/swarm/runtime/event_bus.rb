# frozen_string_literal: true

# What users see of the supervisor: the log, their blocks, the status. The component that owns
# a fact publishes it once, and knows no subscriber. A call to a known object is a call, never
# an event. Synchronous: each subscriber has run when `publish` returns.
#
#   events = EventBus.new { |too_many| … }   # called after each bug of skep's (ErrorGuard)
#   events.subscribe { |event| log(event.name, event.level, event.facts) }
#   events.publish(:node_ready, node, duration: 0.2)
#   events.counts                 # => { "node_ready" => 1 }
#   events.guard("timer") { … }   # a bug of skep's in it: supervisor_error
#
# The subject is a NodeProcess, a Slot, a Mold or nil; its `event_facts` (node, mold, pid) are
# part of the event's facts. A work may give its events names as it likes, as a String: past
# MOST of them, further ones count as "other".
module Skep
  class Swarm
    module Runtime
      class EventBus
        Event = Struct.new(:name, :level, :subject, :facts)
        MOST = 200
        OTHER = "other"
        private_constant :MOST, :OTHER

        attr_reader :counts

        def initialize(&on_error)
          @subscribers = []
          @counts = Hash.new(0)
          @error_guard = ErrorGuard.new(self, &on_error)
        end

        def subscribe(&subscriber) = @subscribers << subscriber

        # level: :debug, :info, :warn or :error. Facts that are nil are left out.
        def publish(name, subject = nil, level: :info, **facts)
          count(name.to_s)
          facts = { **(subject ? subject.event_facts : {}), **facts.compact }
          event = Event.new(name, level, subject, facts)
          @subscribers.each { |subscriber| subscriber.call(event) }
        end

        def count(name)
          name = OTHER unless @counts.key?(name) || @counts.size < MOST
          @counts[name] += 1
        end

        # Runs a callback of the supervisor (ErrorGuard#call).
        def guard(...) = @error_guard.call(...)

        def keep_running_after_errors = @error_guard.keep_running

        # Returns true if a callback has raised.
        def errors? = @error_guard.count.positive?
      end
    end
  end
end
