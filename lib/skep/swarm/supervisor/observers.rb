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

      # What a supervisor reports to its observers. Override what you need; each is called within
      # the supervisor's loop, so none of it may block.
      #
      #   class Bell < Skep::Swarm::Supervisor::Observer
      #     def event(name, level, facts) = (print "\a" if name == "node_died")
      #   end
      class Observer
        # Something happened: its name and facts are in docs/reference/events.md;
        # level is :debug, :info, :warn or :error.
        def event(name, level, facts) = nil

        # The configuration is known and valid;
        # a Skep::Error raised here ends the boot with its sentence.
        def configured(supervisor) = nil

        # USR1: open again what is written to.
        def reopen = nil

        # In a process forked from the supervisor: close what is the supervisor's alone.
        def close_in_child = nil

        # The swarm has ended.
        def on_close = nil
      end

      # How often each event was reported, from the swarm's first on.
      #
      #   event_counter = EventCounter.new   # one of the observers
      #   event_counter.counts               # => { "node_died" => 3, … }
      #
      # A work may give its events names as it likes: past MOST of them, further ones count as
      # "other".
      class EventCounter < Supervisor::Observer
        MOST = 200
        OTHER = "other"
        private_constant :MOST, :OTHER

        attr_reader :counts

        def initialize
          super
          @counts = Hash.new(0)
        end

        # level and facts aren't needed to count it.
        def event(name, _level = nil, _facts = nil)
          name = OTHER unless @counts.key?(name) || @counts.size < MOST
          @counts[name] += 1
        end
      end
    end
  end
end
