# frozen_string_literal: true

# What a supervisor reports to its observers. Override what you need; each is called within
# the supervisor's loop, so none of it may block.
#
#   class Bell < Skep::Swarm::Supervisor::Observer
#     def event(name, level, facts) = (print "\a" if name == "node_died")
#   end
module Skep
  class Swarm
    class Supervisor
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
    end
  end
end
