# frozen_string_literal: true

module Skep
  module Fork
    # What skep patches of Ruby, prepended to Process' singleton class: the two methods through
    # which it forks.
    #
    #   fork, Process.fork, IO.popen("-")   # all come by Process._fork
    #   Process.daemon                      # forks in C, where its parent ends: no parent callback
    #
    # Others may prepend before or after us: each calls the next by super.
    module Hook
      #: () -> Integer
      def _fork = Fork.callbacks.around_fork { Hook.count(super) }

      #: (*bool?) -> Integer
      def daemon(*) = Fork.callbacks.around_fork { Hook.count(super) }

      # Counts the fork at once in its child: forks that nobody looked at until the next one would
      # count as one.
      #
      #: (Integer result) -> Integer
      def self.count(result)
        OS::Generation.count if result.zero?
        result
      end
    end
    private_constant :Hook
  end
end
