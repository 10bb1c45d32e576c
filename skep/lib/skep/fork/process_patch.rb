# frozen_string_literal: true

module Skep
  module Fork
    # The two methods by which Ruby forks, patched by prepending to Process' singleton class.
    #
    #   fork, Process.fork, IO.popen("-")   # all call Process._fork
    #   Process.daemon                      # forks in C and ends the parent: no parent callback
    #
    # Other libraries may prepend modules, too: each calls the next by super. In a Ractor other than
    # the main one only the child callbacks run: the others belong to the main Ractor, and the
    # child's only Ractor is its main one.
    module ProcessPatch
      def _fork = ProcessPatch.around { super }

      def daemon(*) = ProcessPatch.around { super.tap { Fork.__note_daemon } }

      # Detects an earlier fork that Ruby didn't make before it forks.
      def self.around(&fork)
        return bare(&fork) unless Ractor.current == Ractor.main

        Skep.generation
        Fork.callbacks.around_fork { counted(&fork) }
      end

      # Marks the new generation as known: the child callbacks run here, not at Skep.generation.
      def self.counted
        yield
      ensure # Another gem's hook may raise in the child.
        OS::Generation.__note
      end

      def self.bare
        yield
      ensure
        Skep.generation
      end
      private_class_method :counted, :bare
    end
    private_constant :ProcessPatch
  end
end
