# frozen_string_literal: true

# All who watch a swarm.
# What one of them raises is told on stderr and costs neither the swarm nor the others anything.
#
#   observers = Observers.new([Watch::Log.new])
#   observers.event("node_died", :warn, node: 0)
#   observers.each_guarded(&:reopen)
module Skep
  class Swarm
    class Observers
      def initialize(observers) #: (Array[Observer]) -> void
        @observers = observers
      end

      def event(name, level, facts) #: (String, Symbol, Hash) -> void
        each_guarded { |observer| observer.event(name, level, facts) }
      end

      # Not guarded: what can't be watched as configured isn't run.
      def configured(supervisor) #: (Supervisor) -> void
        @observers.each { |observer| observer.configured(supervisor) }
      end

      # What each of them hands over, by its class.
      def keep(handover) #: (Handover) -> Hash[String, untyped]
        @observers.to_h { |observer| [observer.class.name, observer.keep(handover)] }
      end

      # The same in the next program.
      def resumed(supervisor, handover) #: (Supervisor, Handover) -> void
        kept = handover["observers"]
        @observers.each { |one| one.resumed(supervisor, kept[one.class.name], handover) }
      end

      def disown = @observers.each(&:disown) #: () -> void

      def each_guarded #: () { (Observer) -> void } -> void
        @observers.each do |observer|
          yield observer
        rescue StandardError => e # an observer's failure must not cost the swarm anything
          warn("skep: #{observer.class} failed: #{Plain.error(e)}")
        end
      end
    end
  end
end
