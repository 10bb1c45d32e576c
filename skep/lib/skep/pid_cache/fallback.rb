# frozen_string_literal: true

module Skep
  module PidCache
    # The cache without C: Process.pid returns the pid that skep's hooks of Process._fork and
    # Process.daemon have read in this process. Its limits:
    #
    # - $$ is not cached;
    # - a fork made in C or by a raw clone(2) is missed until the next call of Skep.generation;
    # - the pid is wrong in another gem's hook of Process._fork that was prepended before skep's.
    module Fallback
      # Redefines the method in place, as the C does, so that others can redefine it after us.
      def self.install
        Process.singleton_class.alias_method(:pid, :pid) # or Ruby warns of the redefinition
        def Process.pid = OS::Generation.__pid_seen
        [true, "Process.pid is the pid that skep saw after the last fork; $$ was not changed"]
      end
    end
    private_constant :Fallback
  end
end
