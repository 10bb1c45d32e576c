# frozen_string_literal: true

# All objects that watch a swarm.
# An exception of one of them is a `supervisor_error`. It affects neither the swarm nor the others.
#
#   observers = Observers.new([Log::EventLog.new], events)
#   observers.event("node_died", :warn, node: 0)
#   observers.each_guarded(&:reopen)
module Skep
  class Swarm
    class Supervisor
      class Observers
        def initialize(observers, events)
          @observers = observers
          @events = events
        end

        def event(name, level, facts)
          each_guarded { |observer| observer.event(name, level, facts) }
        end

        # Not guarded: what can't be watched as configured isn't run.
        def configured(supervisor)
          @observers.each { |observer| observer.configured(supervisor) }
        end

        def close_in_child = @observers.each(&:close_in_child)

        def each_guarded
          @observers.each do |observer|
            @events.guard("observer #{observer.class}", harmless: true) { yield observer }
          end
        end
      end
    end
  end
end
