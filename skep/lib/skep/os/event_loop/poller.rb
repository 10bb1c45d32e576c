# frozen_string_literal: true

require "io/wait"
require "skep/os/event_loop/poller/fallback"
require "skep/os/event_loop/poller/epoll"

# Waits for many IOs at once and returns the token of each that is ready.
#
#   poller = Skep::OS::EventLoop::Poller.new
#   poller.add(io, :channel)
#   poller.wait(1.5)   # => [[:channel, true, false]], or [] at the deadline
#   poller.remove(io)  # before io.close
#   poller.close
#
# A hangup or an error makes an IO ready for whatever it is watched for. An IO that is watched for
# neither reading nor writing stays in the poller. Only one thread may use a poller at a time. It
# works on in a forked child. Source: epoll(7).
module Skep
  module OS
    class EventLoop
      class Poller
        Entry = Struct.new(:io, :token, :read, :write, :serial, :armed)
        private_constant :Entry

        include Fallback

        def initialize
          @entries = {}.compare_by_identity
          @serials = {}
          @serial = 0
          @closed = false
          attach
        end

        # Watches an IO, or the `to_io` of another object.
        def add(io, token, read: true, write: false)
          assert_open
          raise ArgumentError, "#{io.inspect} is in the poller already" if @entries.key?(io)

          entry = Entry.new(io.to_io, token, read, write, @serial += 1)
          @serials[entry.serial] = @entries[io] = entry
          arm(entry)
          self
        rescue SystemCallError
          # The kernel can't watch it: a plain file, or an fd that is watched already.
          @serials.delete(@entries.delete(io)&.serial)
          raise
        end

        def modify(io, token, read:, write:)
          assert_open
          entry = @entries.fetch(io) { raise ArgumentError, "#{io.inspect} isn't in the poller" }
          entry.token = token
          entry.read = read
          entry.write = write
          arm(entry)
          self
        end

        # Stops watching the io, if it is in the poller.
        def remove(io)
          assert_open
          entry = @entries.delete(io) or return self
          @serials.delete(entry.serial)
          entry.read = entry.write = false
          arm(entry) unless entry.io.closed?
          self
        end

        # Waits for at most so many seconds (nil: for ever); other threads run meanwhile.
        def wait(seconds = nil)
          assert_open
          ready(seconds && [seconds, 0].max)
        end

        def close
          return if @closed

          @closed = true
          @entries.clear
          @serials.clear
          release
          nil
        end

        def closed? = @closed

        def size = @entries.size

        def inspect = "#<#{self.class} #{@closed ? "closed" : "ios=#{size}"}>"

        private

        def assert_open
          raise IOError, "closed poller" if @closed
        end

        # Removes IOs that were closed before they were removed.
        def forget_closed
          @entries.delete_if { |_io, entry| entry.io.closed? && @serials.delete(entry.serial) }
        end
      end
    end
  end
end
