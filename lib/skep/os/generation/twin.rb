# frozen_string_literal: true

module Skep
  module OS
    module Generation
      # Generation by comparing pids. What it can't do:
      #
      # - be cheaper than Process.pid, a system call on Ruby 3.1 and 3.2;
      # - notice a fork of which Ruby 3.3 or newer doesn't know (a raw clone(2)), as its Process.pid
      #   is cached;
      # - notice a fork unlooked at whose own child got the very pid that was seen last.
      module Twin
        #: () -> Integer
        def pid
          pid = Process.pid
          return pid if pid == @pid

          @count += 1
          @pid = pid
        end

        #: () -> Integer
        def count
          pid
          @count
        end
      end
      private_constant :Twin
    end
  end
end
