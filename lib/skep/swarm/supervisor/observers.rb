# frozen_string_literal: true

# All who watch a swarm.
# What one of them raises is told on stderr and costs neither the swarm nor the others anything.
#
#   observers = Observers.new([Watch::Log.new])
#   observers.event("node_died", :warn, node: 0)
#   observers.each_guarded(&:reopen)
module Skep
  class Swarm
    class Supervisor
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
        def dump(state_file) #: (Rollout::Upgrade::StateFile) -> Hash[String, untyped]
          @observers.to_h { |observer| [observer.class.name, observer.dump(state_file)] }
        end

        # The same in the next program.
        def resumed(supervisor, state_file) #: (Supervisor, Rollout::Upgrade::StateFile) -> void
          kept = state_file["observers"]
          @observers.each { |one| one.resumed(supervisor, kept[one.class.name], state_file) }
        end

        def disown = @observers.each(&:disown) #: () -> void

        def each_guarded #: () { (Observer) -> void } -> void
          @observers.each do |observer|
            yield observer
          rescue StandardError => e # an observer's failure must not cost the swarm anything
            warn("skep: #{observer.class} failed: #{IPC::PlainData.error(e)}")
          end
        end
      end

      # What a supervisor tells those who watch it. Override what you need; each is called within
      # the supervisor's loop, so none of it may block.
      #
      #   class Bell < Skep::Swarm::Supervisor::Observer
      #     def event(name, level, facts) = (print "\a" if name == "node_died")
      #   end
      class Observer
        # Something happened: its name and facts are in docs/events.md;
        # level is :debug, :info, :warn or :error.
        def event(name, level, facts) = nil #: (String, Symbol, Hash) -> void

        # The configuration is known and valid;
        # a Skep::Error raised here ends the boot with its sentence.
        def configured(supervisor) = nil #: (Supervisor) -> void

        # What the next program's observer of this class must know: plain data, and numbers of
        # descriptors that it lends.
        def dump(_state_file) = nil #: (Rollout::Upgrade::StateFile) -> untyped

        # In place of `configured`, where the supervisor goes on as another program: what was kept,
        # or nil. What is raised here ends the supervisor.
        #: (Supervisor, untyped, Rollout::Upgrade::StateFile) -> void
        def resumed(supervisor, _kept, _state_file) = configured(supervisor)

        # USR1: open again what is written to.
        def reopen = nil #: () -> void

        # In a process forked from the supervisor: close what is the supervisor's alone.
        def disown = nil #: () -> void

        # The swarm has ended.
        def closed = nil #: () -> void
      end

      # How often each event was told, from the swarm's first on.
      #
      #   event_counter = EventCounter.new   # one of those who watch
      #   event_counter.counts               # => { "node_died" => 3, … }
      #
      # A work may give its events names as it likes: past MOST of them, further ones count as
      # "other".
      class EventCounter < Supervisor::Observer
        MOST = 200
        OTHER = "other"
        private_constant :MOST, :OTHER

        attr_reader :counts #: Hash[String, Integer]

        def initialize #: () -> void
          super
          @counts = Hash.new(0)
        end

        def event(name, _level, _facts) #: (String, Symbol, Hash) -> void
          name = OTHER unless @counts.key?(name) || @counts.size < MOST
          @counts[name] += 1
        end

        def dump(_state_file) = counts #: (Rollout::Upgrade::StateFile) -> Hash[String, Integer]

        #: (Supervisor, Hash?, Rollout::Upgrade::StateFile) -> void
        def resumed(_supervisor, kept, _state_file)
          @counts.merge!(kept.to_h) { |_, now, before| now + before }
        end
      end
    end
  end
end
