# frozen_string_literal: true

# Detects forks: the pid of this process, and how many forks lie behind it.
#
#   Skep::OS::Generation.pid            # => Integer, cached
#   Skep::OS::Generation.count          # => forks since the process that loaded skep; 0 there
#   Skep::OS::Generation.listen { … }   # called once after a fork that Ruby didn't make
#
# A fork is detected at the next call, however it was made (also by Process.daemon and a raw
# clone(2)). Several forks between two calls of `count` count once. Only PidMethods#generation calls
# the listener; `pid` and `count` don't.
module Skep
  module OS
    module Generation
      @pid = $$
      @count = @noticed = 0

      # Generation by comparing pids. Its limits:
      #
      # - it costs as much as $$: a system call on Ruby 3.1 and 3.2;
      # - on Ruby 3.3 or newer, which caches the pid, it misses forks by C code or a raw clone(2);
      # - it misses a fork if a descendant gets the pid that was seen last before any call.
      module Fallback
        # Not Process.pid: skep/pid_cache may have replaced that by a call of this method.
        def pid = $$

        def count
          pid = $$
          return @count if pid == @pid
          return @count + 1 unless Ractor.current == Ractor.main # others may not write here

          @pid = pid
          @count += 1
        end

        # Returns the pid at the last check for a fork. For skep/pid_cache.
        def __pid_seen = @pid

        # Returns the count at the listener's last call.
        def __noticed = @noticed

        # Records that the listener knows the count; returns false if it did before.
        def __note = @noticed != count && (@noticed = count)
      end
      private_constant :Fallback

      extend Fallback

      # Extends a module with `pid` and `generation`, each at the price of one call in C:
      #
      #   Skep.extend(Skep::OS::Generation::PidMethods)
      #   Skep.pid          # => Integer, this process
      #   Skep.generation   # => Integer; calls the listener first after an undetected fork
      module PidMethods
        # The methods in Ruby.
        module Fallback
          def pid = $$

          def generation
            count = Generation.count
            count == Generation.__noticed ? count : Generation.__notice
          end
        end
        private_constant :Fallback
        include Fallback
      end

      # Makes PidMethods#generation call the block whenever the count has changed since its last
      # call. Forks before now don't count. A later listener replaces an earlier one.
      def self.listen(&block)
        __note
        @listener = block
        nil
      end

      # Calls the listener if it doesn't know the count yet, and returns the count. Deferred in a
      # Ractor other than the main one and in a trap handler, which can't take a lock.
      def self.__notice
        @listener&.call if !aside? && __note
        count
      end

      def self.aside?
        Ractor.current != Ractor.main || Mutex.new.synchronize { false }
      rescue ThreadError
        true # "can't be called from trap context"
      end
      private_class_method :aside?

      # @!method self.pid
      #   The number of this process, cached.
      #   @return [Integer]
      # @!method self.count
      #   The number of forks between this process and the one that loaded skep. Doesn't call the
      #   listener.
      #   @return [Integer]
    end
  end
end
