# frozen_string_literal: true

# The supervisor's view of one child: its seat, its process, its channel, its slot on the page.
#
#   node = Node.new(slot, seat, mold, OS.now)
#   node.listens_to(channel)      # asked of the mold
#   node.forked(pid, pidfd)       # it exists
#   node.ready(now)               # it can work
#   node.ended                    # it is gone
#
# One object a process: what follows it in its seat is another. It closes what it owns; when to do
# any of this the Manager says.
module Skep
  class Swarm
    class Node
      include Kept

      KEPT = %i[pid asked_at ready_at seated_at joined work work_bytes said].freeze
      LIVE = %i[booting ready quiet stopping spare].freeze
      private_constant :LIVE

      attr_reader :slot #: Integer, its cells on the page
      attr_reader :seat #: Seat
      attr_reader :mold #: Mold
      attr_reader :channel #: Link
      attr_reader :state #: Symbol, one of booting ready quiet stopping spare dead
      attr_reader :pid #: Integer?
      attr_reader :pidfd #: OS::Pidfd?
      attr_reader :work #: Hash, what its source tells of it
      attr_reader :work_bytes #: Integer, what that takes as JSON
      attr_reader :reason #: String?, why we end it
      attr_reader :asked_at #: Float
      attr_reader :ready_at #: Float?
      attr_reader :complaints #: Complaints
      attr_accessor :end_watch, :watches
      attr_accessor :footprint #: Footprint?, from its readiness on
      attr_accessor :stepped_in #: Float?, seconds it took, of a spare that did
      attr_accessor :news #: Array[Channel::Frame]?, what it says that can't be told yet

      def initialize(slot, seat, mold, now) #: (Integer, Seat, Mold, Float) -> void
        @slot = slot
        @seat = seat
        @mold = mold
        @asked_at = now
        @state = :booting
        @watches = []
        @work = {}
        @work_bytes = 0
        @said = {}
        @complaints = Complaints.new
      end

      # Of one that is neither booting nor on its way out.
      def keep(handover) #: (Handover) -> Hash[String, untyped]
        { **super(), "slot" => slot, "mold" => mold.number, "state" => state,
          "pidfd" => handover.lend(pidfd), "socket" => handover.lend(channel),
          "channel" => channel.keep, "complaints" => complaints.keep,
          "footprint" => footprint&.keep }
      end

      def recall(plain, pidfd) #: (Hash[String, untyped], OS::Pidfd) -> self
        @state = plain["state"].to_sym
        @pidfd = pidfd
        @complaints.recall(plain["complaints"])
        super(plain)
      end

      def listens_to(channel) = @channel = channel #: (Link) -> void

      def id = seat.id #: () -> Integer
      def label = seat.label #: () -> (Integer | String), what events call it
      def task = seat.task #: () -> Integer?
      def helper? = seat.helper? #: () -> bool
      def live? = LIVE.include?(@state) #: () -> bool
      def ready? = %i[ready quiet spare].include?(@state) #: () -> bool, it owes beats
      def joined? = @joined ? true : false #: () -> bool
      def took = @ready_at && (@ready_at - (@seated_at || @asked_at)) #: () -> Float?

      # Before or after it was ready.
      def kind_of_death = @ready_at ? "work" : "boot" #: () -> String

      # Is another process to work in its seat once it is gone?
      def retired? = @retired ? true : false #: () -> bool

      def forked(pid, pidfd) #: (Integer, OS::Pidfd?) -> void
        @pid = pid
        @pidfd = pidfd
      end

      # By when it must be ready, or a spare.
      def boot_timer=(timer) #: (OS::Loop::Timer) -> void
        @boot_timer&.cancel
        @boot_timer = timer
      end

      def ready(now) #: (Float) -> void
        @boot_timer&.cancel # of one that booted before an upgrade there is none
        @ready_at = now
        seat.refusal = nil
        @state = @quiet ? :quiet : :ready if @state == :booting
      end

      # Booted, and waiting for a seat.
      def spare(now) #: (Float) -> void
        @boot_timer&.cancel
        @ready_at = now
        @state = :spare if @state == :booting
      end

      # A spare has stepped in: what it was asked for is another's seat from here on.
      def sit(seat, now) #: (Seat, Float) -> void
        @seat = seat
        @seated_at = now
        @ready_at = nil
        @state = :booting if @state == :spare
      end

      def joined(joined) = @joined = joined #: (bool) -> void
      def was_spare? = !@seated_at.nil? || seat.spare? #: () -> bool

      def report(facts, bytes) #: (Hash, Integer) -> void
        @work, @work_bytes = facts, bytes
      end

      # Returns true for the first message of a type.
      def first?(type) = !@said.key?(type) && (@said[type] = true) #: (String) -> bool

      def quiet #: () -> void
        @quiet = true
        @state = :quiet if @state == :ready
        @channel.send("quiet")
      end

      def stop #: () -> void
        deliberately
        @state = :stopping
        @channel.send("stop", { "for_good" => seat.given_up? })
      end

      # It is on its way out by itself.
      def depart #: () -> void
        @state = :stopping
      end

      # Why it is to end; the first reason counts.
      def reason=(reason)
        @reason ||= reason
      end

      # Stops it in favour of its successor, or for good.
      def retire #: () -> void
        @retired = true
        stop
      end

      # Its work is to end, and the process to become a mold, which is heard over that socket.
      def retire_to_mold(number, socket, refork) #: (Integer, BasicSocket, Refork) -> void
        @retired = true
        @refork = refork
        @state = :stopping
        @channel.send("become_mold", { "mold" => number }, give: [socket])
      end

      attr_reader :refork #: Refork?, for which it is to become one

      # The process lives on as something else, whose its pidfd is from here on.
      def leave = @pidfd.tap { @pidfd = nil } #: () -> OS::Pidfd

      # The seat is its alone from here on (Child#take_place).
      def place = @channel.send("place") #: () -> void

      # Called with it when it is killed: it is to end soon.
      def expect_end(&block) = @expect_end = block #: () { (Node) -> void } -> void

      # Why it was killed, where it was none of us.
      def blame(reason) #: (String) -> void
        @reason = reason if @reason.nil? || @retired
      end

      # Have we ended it by force?
      def killed? = @killed ? true : false #: () -> bool

      # Ends it at once, for a reason that its exit will be reported with.
      def kill(reason, signal = :KILL) #: (String, ?Symbol) -> void
        deliberately
        @reason = reason if @reason.nil? || @retired
        @expect_end&.call(self) if signal == :KILL && !killed?
        @killed = true if signal == :KILL
        @pidfd&.signal(signal)
      rescue Errno::ESRCH # it went by itself first
        nil
      end

      # It is hung or ill, and is to go.
      def condemn(reason) #: (String) -> void
        @condemned = true
        kill(reason, :TERM)
      end

      def condemned? = @condemned ? true : false #: () -> bool

      # Closes all that belonged to the process.
      def ended #: () -> void
        @state = :dead
        [@boot_timer, @end_watch, *@watches].compact.each(&:cancel)
        @watches.clear
        [@channel, @pidfd].compact.each(&:close)
      end

      def inspect = "#<#{self.class} #{label} #{state} pid=#{pid.inspect}>" #: () -> String

      private

      # The end of it is ours: no spare is to answer it.
      def deliberately = equal?(seat.node) && seat.claim.shut
    end
  end
end
