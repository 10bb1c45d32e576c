# frozen_string_literal: true

require "skep/os/generation/twin"
require "skep/os/generation/facade"

# Which process of its lineage this is.
#
#   Skep::OS::Generation.pid     # => Integer, cached
#   Skep::OS::Generation.count   # => forks since the process that loaded skep; 0 there
#   Skep::OS::Generation.listen { … }   # => what is called once in a process forked unseen
#
# A fork is noticed at the next question, by whatever means it was made (Process.daemon and a raw
# clone(2) too); several between two calls of `count` count once. Neither `pid` nor `count` calls
# the listener: only Facade#generation does.
module Skep
  module OS
    module Generation
      @pid = $$
      @count = @noticed = 0
      extend Twin

      # Has the block called by Facade#generation whenever the count has moved since it was asked
      # last. It begins with now; there is one listener, the last.
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
