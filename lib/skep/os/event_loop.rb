# frozen_string_literal: true

require "skep/os/event_loop/ready_now"
require "skep/os/event_loop/poller"
require "skep/os/event_loop/watch"
require "skep/os/event_loop/timer"
require "skep/os/event_loop/timer_queue"

# One thread's events: blocks run when an IO is ready or a moment has come.
#
#   loop = Skep::OS::EventLoop.new
#   watch = loop.watch(io) { |readable, writable| … }
#   timer = loop.after(1.5) { loop.stop }
#   loop.run
#   loop.close
#
# It wakes for a reason only. Of one turn's blocks those of IOs run first, then timers by deadline,
# then those that may be `early:`, so that several share a wake-up;
# a block cancelled earlier in the same turn isn't run, one made in a turn waits for the next.
# What a block raises comes out of #turn, and what was due then is still due in the next. It isn't
# for several threads: let others write to a pipe that it watches.
module Skep
  module OS
    class EventLoop
      #: (?poller: Poller) -> void
      def initialize(poller: Poller.new)
        @poller = poller
        @timers = TimerQueue.new
        @stopped = false
      end

      # Runs the block whenever the io is readable (hangups count), or writable if asked for.
      #
      #: (IO, ?write: bool) { (bool readable, bool writable) -> void } -> Watch
      def watch(io, write: false, &block)
        Watch.new(@poller, io, write, block)
      end

      # Runs the block once, so many seconds from now.
      #
      #: (Numeric seconds, ?early: Numeric) { () -> void } -> Timer
      def after(seconds, early: 0, &block) = at(OS.now + seconds, early:, &block)

      # Runs the block once, at a moment of Skep::OS.now; by so many seconds earlier where the loop
      # is awake for something else.
      #
      #: (Float deadline, ?early: Numeric) { () -> void } -> Timer
      def at(deadline, early: 0, &block) = @timers.add(deadline, block, early:)

      # Waits for the next event or timer, for at most `timeout` seconds, and runs its blocks.
      #
      #: (?Numeric? timeout) -> void
      def turn(timeout = nil)
        events = @poller.wait([timeout, @timers.seconds_left].compact.min)
        now = OS.now
        early = @timers.early(now)
        events.each { |watch, readable, writable| watch.__call(readable, writable) }
        while (timer = @timers.take(now))
          timer.__call
        end
        early.each { |one| one.tap(&:__leave).__call if one.pending? }
      end

      # Turns until #stop is called, be it before.
      #
      #: () -> void
      def run
        turn until @stopped
        @stopped = false
      end

      # Is a timer due by now?
      #
      #: () -> bool
      def due? = @timers.seconds_left == 0

      # Ends #run after the turn in progress.
      #
      #: () -> void
      def stop
        @stopped = true
      end

      # Lets go of every watch and timer; the IOs stay open.
      #
      #: () -> nil
      def close
        @timers.clear
        @poller.close
      end

      #: () -> String
      def inspect = "#<#{self.class} ios=#{@poller.size} timers=#{@timers.size}>"
    end
  end
end
