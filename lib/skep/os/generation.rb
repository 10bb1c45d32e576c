# frozen_string_literal: true

# Which process of its lineage this is.
#
#   Skep::OS::Generation.pid            # => Integer, cached
#   Skep::OS::Generation.count          # => forks since the process that loaded skep; 0 there
#   Skep::OS::Generation.listen { … }   # => what is called once in a process forked unseen
#
# A fork is noticed at the next question, by whatever means it was made (Process.daemon and a raw
# clone(2) too); several between two calls of `count` count once. Neither `pid` nor `count` calls
# the listener: only PidMethods#generation does.
module Skep
  module OS
    module Generation
      @pid = $$
      @count = @noticed = 0

      # Generation by comparing pids. What it can't do:
      #
      # - be cheaper than $$, a system call on Ruby 3.1 and 3.2;
      # - notice a fork of which Ruby 3.3 or newer doesn't know, made in C or by a raw clone(2), as
      #   its pid is cached;
      # - notice a fork unlooked at whose own child got the very pid that was seen last.
      module Fallback
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
      private_constant :Fallback

      extend Fallback

      # What a module is extended with to answer for itself, at the price of one call in C:
      #
      #   Skep.extend(Skep::OS::Generation::PidMethods)
      #   Skep.pid          # => Integer, this process
      #   Skep.generation   # => Integer; tells the listener first of a fork that it doesn't know
      module PidMethods
        # The same in Ruby.
        module Fallback
          #: () -> Integer
          def pid = $$

          #: () -> Integer
          def generation
            count = Generation.count
            count == Generation.__noticed ? count : Generation.__notice
          end
        end
        private_constant :Fallback
        include Fallback
      end

      # Has the block called by PidMethods#generation whenever the count has moved since it was
      # asked last. It begins with now; there is one listener, the last.
      #
      #: () { () -> void } -> void
      def self.listen(&block)
        __note
        @listener = block
        nil
      end

      # The count, told to the listener first if that doesn't know it yet. Put off where no block of
      # others can run: in a Ractor that isn't the main one, and in a trap handler, where none gets
      # a lock.
      #
      #: () -> Integer
      def self.__notice
        @listener&.call if !aside? && __note
        count
      end

      #: () -> bool
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
      #   How many forks lie between this process and the one that loaded skep; calls nobody.
      #   @return [Integer]
    end
  end
end
