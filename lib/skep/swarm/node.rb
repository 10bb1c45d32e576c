# frozen_string_literal: true

# The supervisor's view of one child: its number, its process, its channel, and what became of it.
#
#   node.begin(channel, mold)     # asked of the mold
#   node.forked(pid, pidfd)       # it exists
#   node.ready(now)               # it can work
#   node.ended(exit, now)         # it is gone
#
# It remembers and it closes what it owns; when to do any of this the Manager says.
module Skep
  class Swarm
    class Node
      attr_reader :id, :task, :state, :pid, :pidfd, :channel, :mold, :deaths, :restarts,
                  :last_exit, :work
      attr_accessor :kill_reason, :refusal, :boot_timer, :wait_timer, :watches

      def initialize(id, task) #: (Integer, Integer) -> void
        @id = id
        @task = task
        @state = :dead
        @deaths = []
        @restarts = -1
        @watches = []
        @work = {}
      end

      def label = id #: () -> Integer, what events call it
      def helper? = false #: () -> bool
      def live? = %i[booting ready quiet stopping].include?(@state) #: () -> bool
      def waiting? = @state == :waiting #: () -> bool
      def ready? = %i[ready quiet].include?(@state) #: () -> bool
      def booted? = !@ready_at.nil? #: () -> bool
      def joined? = @joined ? true : false #: () -> bool
      def clean? = last_exit&.clean? && !@last_reason #: () -> bool, it ended well and by itself
      def took = @ready_at && (@ready_at - @asked_at) #: () -> Float?

      def wait #: () -> void
        @state = :waiting
      end

      def begin(channel, mold, now) #: (Channel, Mold, Float) -> void
        @state = :booting
        @channel = channel
        @mold = mold
        @asked_at = now
        @restarts += 1
        @pid = @pidfd = @ready_at = @kill_reason = @joined = nil
        @work = {}
      end

      def forked(pid, pidfd) #: (Integer, OS::Pidfd) -> void
        @pid = pid
        @pidfd = pidfd
      end

      def ready(now) #: (Float) -> void
        @ready_at = now
        @refusal = nil
        @state = :ready if @state == :booting
      end

      def joined(joined) = @joined = joined #: (bool) -> void
      def report(facts) = @work = facts #: (Hash) -> void

      def quiet #: () -> void
        @state = :quiet if @state == :ready
        @channel.send("quiet")
      end

      def stop #: () -> void
        @state = :stopping
        @channel.send("stop")
      end

      # Ends it at once, for a reason that its exit will be reported with.
      def kill(reason, signal = :KILL) #: (String, ?Symbol) -> void
        @kill_reason ||= reason
        @pidfd&.signal(signal)
      rescue Errno::ESRCH # it went by itself first
        nil
      end

      # Forgets the process, remembers how it ended, and closes all that belonged to it.
      def ended(exit, now, within:) #: (Exit, Float, within: Float) -> void
        @state = :dead
        @last_exit = exit
        @deaths.shift while @deaths.any? && @deaths.first <= now - within
        @deaths << now
        @last_reason = @kill_reason
        [@boot_timer, *@watches].compact.each(&:cancel)
        @watches.clear
        [@channel, @pidfd].compact.each(&:close)
      end

      def done = @state = :dead #: () -> void

      # One node of `skep status --json`.
      def to_plain(memory:, beat_age:, done:) #: (**untyped) -> Hash[Symbol, untyped]
        { id:, pid: live? ? pid : nil, mold: mold&.number, state: @state, joined: joined?,
          restarts: [@restarts, 0].max,
          last_exit: last_exit && { status: last_exit.exitstatus, signal: last_exit.signal,
                                    reason: @last_reason },
          memory:, beat_age:, work: { done:, **@work } }
      end

      def inspect = "#<#{self.class} #{id} #{state} pid=#{pid.inspect}>" #: () -> String
    end
  end
end
