# frozen_string_literal: true

module Skep
  class SolidQueue < Guest
    # When each of Solid Queue's threads has last asked the database for work.
    #
    #   polls = PollWatch.new
    #   polls.subscribe
    #   polls.began(0.1)              # the calling thread will ask at this interval
    #   polls.problem(jobs: false)    # a sentence if one doesn't, or nil
    #
    # A worker whose threads are all busy doesn't ask: while jobs run, nothing is judged. During an
    # outage of the database the threads end with errors, and are started again: an error counts as
    # a sign of life, too.
    class PollWatch
      PATIENCE = 30.0 # seconds
      Poll = Struct.new(:at, :interval)
      private_constant :PATIENCE, :Poll

      def initialize
        @polls = {}.compare_by_identity
        @lock = Mutex.new
      end

      def subscribe(notifications = ::ActiveSupport::Notifications)
        notifications.subscribe("polling.solid_queue") { |_event| polled }
        notifications.subscribe("thread_error.solid_queue") { |_event| all_well }
      end

      def began(interval)
        @lock.synchronize { @polls[Thread.current] = Poll.new(OS.now, interval.to_f) }
      end

      def problem(jobs:)
        return all_well && nil if jobs

        now = OS.now
        late = alive.count { |poll| now - poll.at > PATIENCE + poll.interval }
        "#{late} of Solid Queue's threads don't ask for jobs any more" if late.positive?
      end

      private

      def polled
        @lock.synchronize do
          poll = @polls[Thread.current]
          poll.at = OS.now if poll
        end
      end

      def all_well = alive.each { |poll| poll.at = OS.now }

      def alive
        @lock.synchronize { @polls.keep_if { |thread, _| thread.alive? }.values }
      end
    end
  end
end
