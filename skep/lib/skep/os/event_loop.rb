# frozen_string_literal: true

require "skep/os/event_loop/ready_now"
require "skep/os/event_loop/poller"
require "skep/os/event_loop/watch"
require "skep/os/event_loop/timer"
require "skep/os/event_loop/timer_queue"
require "skep/os/event_loop/deadline"

# An event loop for one thread: it calls blocks when an IO is ready or a timer is due.
#
#   loop = Skep::OS::EventLoop.new
#   watch = loop.watch(io) { |readable, writable| … }
#   timer = loop.after(1.5) { loop.stop }
#   loop.run
#   loop.close
#
# Poller waits for IOs; Watch is a block for one IO; TimerQueue sorts the Timers; a Deadline is a
# timer that makes up for pauses; ReadyNow checks one IO without waiting.
#
# The loop never polls. In a turn the blocks of IOs run first, then timers by deadline, then timers
# that may be `early:`, so that several share a wake-up. A block that was cancelled in the same turn
# doesn't run; one that was added in a turn runs in the next at the earliest. Only one thread may
# use a loop: other threads wake it through a pipe that it watches.
#
# An error in a block is raised by #turn; what was due then is still due in the next turn. With a
# `guard:`, each block is called by it, and the loop goes on after an error. A descriptor whose
# block has raised isn't watched for a moment, as it may be ready still, and raise again.
module Skep
  module OS
    class EventLoop
      # Seconds by which a wait may end late on a busy machine.
      LATE = 0.5
      # Seconds for which a descriptor isn't watched after an error in its block.
      REST = 0.1
      UNGUARDED = lambda { |_kind, &block|
        block.call
        nil
      }
      private_constant :LATE, :REST, :UNGUARDED

      # How many seconds this process was stopped, frozen or starved in all, as far as timers were
      # due meanwhile.
      attr_reader :overslept

      # guard: is called with "timer" or "descriptor" and the block to call, and returns the
      # exception that it has kept from the loop, or nil.
      def initialize(poller: OS.machine.poller, guard: UNGUARDED)
        @poller = poller
        @guard = guard
        @timers = TimerQueue.new
        @overslept = 0.0
        @awake_at = OS.now
        @stopped = false
      end

      # Calls the block whenever the io is readable (hangups count), or writable if `write`.
      def watch(io, write: false, &block)
        Watch.new(@poller, io, write, block)
      end

      # Calls the block once, after so many seconds.
      def after(seconds, early: 0, &block) = at(OS.now + seconds, early:, &block)

      # Calls the block once, at a time of Skep::OS.now; up to `early` seconds before, if the loop
      # is awake for another event.
      def at(deadline, early: 0, &block) = @timers.add(deadline, block, early:)

      # Calls the block once, after so many seconds; later if this process was stopped meanwhile.
      def deadline(seconds, &block) = Deadline.new(self, seconds, block)

      # Waits for the next event or timer, for at most `timeout` seconds, and calls its blocks.
      def turn(timeout = nil)
        events = wait(timeout)
        now = @awake_at
        early = @timers.early(now)
        events.each { |watch, readable, writable| call_watch(watch, readable, writable) }
        while (timer = @timers.take(now))
          call_timer(timer)
        end
        early.each { |one| call_timer(one.tap(&:__leave)) if one.pending? }
      end

      # Turns until #stop is called; returns at once if it was called before.
      def run
        turn until @stopped
        @stopped = false
      end

      # Makes #run return after the turn in progress.
      def stop
        @stopped = true
      end

      # Removes every watch and timer; the IOs stay open.
      def close
        @timers.clear
        @poller.close
      end

      def inspect = "#<#{self.class} ios=#{@poller.size} timers=#{@timers.size}>"

      private

      def call_watch(watch, readable, writable)
        error = @guard.call("descriptor") { watch.__call(readable, writable) }
        return unless error

        watch.__rest
        after(REST) { watch.__resume }
      end

      def call_timer(timer) = @guard.call("timer") { timer.__call }

      def wait(timeout)
        due = [*@timers.deadline, *(timeout && (OS.now + timeout))].min
        events = @poller.wait(due && [due - OS.now, 0].max)
        before, @awake_at = @awake_at, OS.now
        late = due ? @awake_at - [due, before].max : 0
        @overslept += late if late > LATE
        events
      end
    end
  end
end
