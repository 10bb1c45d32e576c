# frozen_string_literal: true

module Skep
  module Fork
    # What skep patches of Ruby, prepended to Process' singleton class: the two methods through
    # which it forks.
    #
    #   fork, Process.fork, IO.popen("-")   # all come by Process._fork
    #   Process.daemon                      # forks in C, where its parent ends: no parent callback
    #
    # Others may prepend before or after us: each calls the next by super. In a Ractor that isn't
    # the main one only the child's callbacks run, as the others are the main Ractor's; the child's
    # only Ractor is its main one.
    module ProcessPatch
      #: () -> Integer
      def _fork = ProcessPatch.around { super }

      #: (*bool?) -> Integer
      def daemon(*) = ProcessPatch.around { super.tap { Fork.__succeed } }

      # Notices first a fork that nobody saw.
      #
      #: () { () -> Integer } -> Integer
      def self.around(&fork)
        return bare(&fork) unless Ractor.current == Ractor.main

        Skep.generation
        Fork.callbacks.around_fork { counted(&fork) }
      end

      # In the child nobody is told of it, as all hear of it here.
      #
      #: () { () -> Integer } -> Integer
      def self.counted
        yield
      ensure # Another gem's hook may raise in the child.
        OS::Generation.__note
      end

      #: () { () -> Integer } -> Integer
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
