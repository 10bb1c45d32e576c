# frozen_string_literal: true

module Skep
  module OS
    module Generation
      # Generation by comparing pids. What it can't do:
      #
      # - be cheaper than $$, a system call on Ruby 3.1 and 3.2;
      # - notice a fork of which Ruby 3.3 or newer doesn't know, made in C or by a raw clone(2), as
      #   its pid is cached;
      # - notice a fork unlooked at whose own child got the very pid that was seen last.
      module Twin
        # Not Process.pid, which skep/pid_cache may have replaced by what asks us.
        #
        #: () -> Integer
        def pid = $$

        #: () -> Integer
        def count
          pid = $$
          return @count if pid == @pid
          return @count + 1 unless Ractor.current == Ractor.main # none other may write here

          @pid = pid
          @count += 1
        end

        # The pid when a fork was looked for last: for skep/pid_cache.
        #
        #: () -> Integer
        def __pid_seen = @pid

        # The count that the listener knows.
        #
        #: () -> Integer
        def __noticed = @noticed

        # Takes the count for told; false when it was.
        #
        #: () -> boolish
        def __note = @noticed != count && (@noticed = count)
      end
      private_constant :Twin
    end
  end
end
