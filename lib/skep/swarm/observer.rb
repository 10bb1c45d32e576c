# frozen_string_literal: true

# What a supervisor tells those who watch it. Override what you need; each is called within the
# supervisor's loop, so none of it may block.
#
#   class Bell < Skep::Swarm::Observer
#     def event(name, level, facts) = (print "\a" if name == "node_died")
#   end
module Skep
  class Swarm
    class Observer
      # Something happened: its name and facts are in docs/events.md;
      # level is :debug, :info, :warn or :error.
      def event(name, level, facts) = nil #: (String, Symbol, Hash) -> void

      # The configuration is known and valid;
      # a Skep::Error raised here ends the boot with its sentence.
      def configured(supervisor) = nil #: (Supervisor) -> void

      # What the next program's observer of this class must know: plain data, and numbers of
      # descriptors that it lends.
      def keep(_handover) = nil #: (Handover) -> untyped

      # In place of `configured`, where the supervisor goes on as another program: what was kept, or
      # nil. What is raised here ends the supervisor.
      #: (Supervisor, untyped, Handover) -> void
      def resumed(supervisor, _kept, _handover) = configured(supervisor)

      # USR1: open again what is written to.
      def reopen = nil #: () -> void

      # In a process forked from the supervisor: close what is the supervisor's alone.
      def disown = nil #: () -> void

      # The swarm has ended.
      def closed = nil #: () -> void
    end
  end
end
