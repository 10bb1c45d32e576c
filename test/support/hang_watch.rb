# frozen_string_literal: true

# Raises in a thread that takes too long, with the place where it was as the backtrace.
#
#   HangWatch.over(240) { … }      # Hangs, once 240 seconds have passed
#
# One thread watches all tests, and is marked as fork-safe. Timeout of Ruby 3.1 starts a thread for
# each call, which tests of threads would find.
module HangWatch
  Hangs = Class.new(StandardError)

  @lock = Mutex.new
  @changed = ConditionVariable.new

  class << self
    def over(seconds)
      @thread ||= Thread.new { watch }.tap { |one| one.thread_variable_set(:fork_safe, true) }
      change { @watched = [Thread.current, seconds, now + seconds] }
      yield
    ensure
      change { @watched = nil }
    end

    private

    def change
      @lock.synchronize do
        yield
        @changed.signal
      end
    end

    def watch
      @lock.synchronize { look while true }
    end

    def look
      thread, seconds, due = @watched
      left = due && (due - now)
      return @changed.wait(@lock, left) unless left&.negative?

      @watched = nil
      thread.raise(Hangs, "no end after #{seconds} s")
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
