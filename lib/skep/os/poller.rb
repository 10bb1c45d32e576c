# frozen_string_literal: true

require "io/wait"
require "skep/os/poller/fallback"
require "skep/os/poller/epoll"

# Waits for many IOs at once and says which are ready, by the token each was added with.
#
#   poller = Skep::OS::Poller.new
#   poller.add(io, :channel)
#   poller.wait(1.5)   # => [[:channel, true, false]], or [] at the deadline
#   poller.remove(io)  # before io.close
#   poller.close
#
# A hangup or an error makes an IO ready for whatever it is watched for. An IO watched for nothing
# stays known and wakes nobody. One thread at a time; it calls no block: that is EventLoop's.
# In a forked child it goes on with a set of its own. Source: epoll(7).
module Skep
  module OS
    class Poller
      Entry = Struct.new(:io, :token, :read, :write, :serial) do
        #: () -> bool
        def interested? = read || write
      end
      private_constant :Entry

      include Fallback

      #: () -> void
      def initialize
        @entries = {}.compare_by_identity
        @serials = {}
        @serial = 0
        @closed = false
        attach
      end

      # `io` is an IO or has one (`to_io`).
      #
      #: (IO, untyped token, ?read: bool, ?write: bool) -> self
      def add(io, token, read: true, write: false)
        assert_open
        raise ArgumentError, "#{io.inspect} is in the poller already" if @entries.key?(io)

        entry = Entry.new(io.to_io, token, read, write, @serial += 1)
        @serials[entry.serial] = @entries[io] = entry
        enter(entry) if entry.interested?
        self
      rescue SystemCallError
        # The kernel watches no such thing (a plain file, an fd that is watched already).
        @serials.delete(@entries.delete(io)&.serial)
        raise
      end

      #: (IO, untyped token, read: bool, write: bool) -> self
      def modify(io, token, read:, write:)
        assert_open
        entry = @entries.fetch(io) { raise ArgumentError, "#{io.inspect} isn't in the poller" }
        was = entry.interested?
        entry.token = token
        entry.read = read
        entry.write = write
        change(entry, was)
        self
      end

      # Forgets the io; an unknown one is fine.
      #
      #: (IO) -> self
      def remove(io)
        assert_open
        entry = @entries.delete(io) or return self
        @serials.delete(entry.serial)
        leave(entry) if entry.interested? && !entry.io.closed?
        self
      end

      # Waits for at most so many seconds (nil: for ever); other threads run meanwhile.
      #
      #: (?Numeric? seconds) -> Array[[untyped token, bool readable, bool writable]]
      def wait(seconds = nil)
        assert_open
        ready(seconds && [seconds, 0].max)
      end

      #: () -> nil
      def close
        return if @closed

        @closed = true
        @entries.clear
        @serials.clear
        release
        nil
      end

      #: () -> bool
      def closed? = @closed

      #: () -> Integer
      def size = @entries.size

      #: () -> String
      def inspect = "#<#{self.class} #{@closed ? "closed" : "ios=#{size}"}>"

      private

      #: () -> void
      def assert_open
        raise IOError, "closed poller" if @closed
      end

      #: (Entry, bool was) -> void
      def change(entry, was)
        return entry.interested? ? enter(entry) : nil unless was

        entry.interested? ? alter(entry) : leave(entry)
      end

      # IOs closed without being removed first.
      #
      #: () -> void
      def forget_closed
        @entries.delete_if { |_io, entry| entry.io.closed? && @serials.delete(entry.serial) }
      end
    end
  end
end
