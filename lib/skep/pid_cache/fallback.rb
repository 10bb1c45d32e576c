# frozen_string_literal: true

module Skep
  module PidCache
    # The cache without C: Process.pid is the number that was seen last, looked at anew in each
    # child by skep's hook of Process._fork and Process.daemon. What it can't do:
    #
    # - speed up $$, which stays Ruby's, and right everywhere;
    # - see a fork made in C or by a raw clone(2), until somebody asks Skep.generation there;
    # - be right in another gem's hook of Process._fork that was prepended before skep's.
    module Fallback
      # Redefined in place, as the C does: who redefines it after us is heard.
      #
      #: () -> [bool, String]
      def self.install
        Process.singleton_class.alias_method(:pid, :pid) # or Ruby warns of what we are asked for
        def Process.pid = OS::Generation.__pid_seen
        [true, "Process.pid is the pid that skep saw after the last fork; $$ was not changed"]
      end
    end
    private_constant :Fallback
  end
end
