# frozen_string_literal: true

# The supervisor's view of one child: its slot, its process, its channel, its cells on the page.
#
#   node = NodeProcess.new(page_index, slot, mold, OS.now)
#   node.listens_to(channel)      # asked of the mold
#   node.forked(pid, pidfd)       # it exists
#   node.ready(now)               # it can work
#   node.ended                    # it is gone
#
# One object a process: what follows it in its slot is another. It closes what it owns; when to do
# any of this the NodePool says.
module Skep
  class Swarm
    module Nodes
      class NodeProcess
        include Runtime::Persisted

        KEPT = %i[pid asked_at ready_at took_slot_at joined work work_bytes said].freeze
        LIVE = %i[booting ready quiet stopping spare].freeze
        private_constant :LIVE

        attr_reader :page_index #: Integer, its cells on the page
        attr_reader :slot #: Slot
        attr_reader :mold #: Molds::Mold
        attr_reader :channel #: IPC::Connection
        attr_reader :state #: Symbol, one of booting ready quiet stopping spare dead
        attr_reader :pid #: Integer?
        attr_reader :pidfd #: OS::Pidfd?
        attr_reader :work #: Hash, what its source tells of it
        attr_reader :work_bytes #: Integer, what that takes as JSON
        attr_reader :reason #: String?, why we end it
        attr_reader :asked_at #: Float
        attr_reader :ready_at #: Float?
        attr_reader :unhealthy_reports #: Health::UnhealthyReports
        attr_accessor :end_watch, :watches
        attr_accessor :node_memory #: Memory::NodeMemory?, from its readiness on

        def initialize(page_index, slot, mold, now) #: (Integer, Slot, Molds::Mold, Float) -> void
          @page_index = page_index
          @slot = slot
          @mold = mold
          @asked_at = now
          @state = :booting
          @watches = []
          @work = {}
          @work_bytes = 0
          @said = {}
          @unhealthy_reports = Health::UnhealthyReports.new
        end

        # Of one that is neither booting nor on its way out.
        def dump(state_file) #: (Upgrade::StateFile) -> Hash[String, untyped]
          { **super(), "page_index" => page_index, "mold" => mold.number, "state" => state,
                       "pidfd" => state_file.lend(pidfd), "socket" => state_file.lend(channel),
                       "channel" => channel.dump, "unhealthy_reports" => unhealthy_reports.dump,
                       "node_memory" => node_memory&.dump }
        end

        def restore(plain, pidfd) #: (Hash[String, untyped], OS::Pidfd) -> self
          @state = plain["state"].to_sym
          @pidfd = pidfd
          @unhealthy_reports.restore(plain["unhealthy_reports"])
          super(plain)
        end

        def listens_to(channel) = @channel = channel #: (IPC::Connection) -> void

        def id = slot.id #: () -> Integer
        def label = slot.label #: () -> (Integer | String), what events call it
        def task = slot.task #: () -> Integer?
        def event_facts = { node: label, mold: mold.number, pid: } #: () -> Hash
        def helper? = slot.helper? #: () -> bool
        def live? = LIVE.include?(@state) #: () -> bool
        def ready? = %i[ready quiet spare].include?(@state) #: () -> bool, it owes beats
        def joined? = @joined ? true : false #: () -> bool
        def boot_seconds = @ready_at && (@ready_at - (@took_slot_at || @asked_at)) #: () -> Float?

        # Before or after it was ready.
        def kind_of_death = @ready_at ? "work" : "boot" #: () -> String

        # Is another process to work in its slot once it is gone?
        def retired? = @retired ? true : false #: () -> bool

        def forked(pid, pidfd) #: (Integer, OS::Pidfd?) -> void
          @pid = pid
          @pidfd = pidfd
        end

        # By when it must be ready, or a spare.
        def boot_timer=(timer) #: (OS::EventLoop::Timer) -> void
          @boot_timer&.cancel
          @boot_timer = timer
        end

        def ready(now) #: (Float) -> void
          @boot_timer&.cancel # of one that booted before an upgrade there is none
          @ready_at = now
          slot.refusal = nil
          @state = @quiet ? :quiet : :ready if @state == :booting
        end

        # Booted, and waiting for a slot.
        def spare(now) #: (Float) -> void
          @boot_timer&.cancel
          @ready_at = now
          @state = :spare if @state == :booting
        end

        # A spare is to work in that slot from here on. It stays a spare until it answers.
        def assign(slot, now) #: (Slot, Float) -> void
          @slot = slot
          @took_slot_at = now
          @ready_at = nil
        end

        # Returns true for a spare that has a slot and hasn't answered yet.
        def stepping_in? = @state == :spare && !slot.spare? #: () -> bool

        # Returns how many seconds the spare's answer took.
        def stepped_in(now) #: (Float) -> Float
          @state = :booting
          now - @took_slot_at
        end

        def joined(joined) = @joined = joined #: (bool) -> void

        def report(facts, bytes) #: (Hash, Integer) -> void
          @work, @work_bytes = facts, bytes
        end

        # Returns true for the first message of a type.
        def first?(type) = !@said.key?(type) && (@said[type] = true) #: (String) -> bool

        def quiet #: () -> void
          @quiet = true
          @state = :quiet if @state == :ready
          @channel.post("quiet")
        end

        def stop #: () -> void
          @state = :stopping
          @channel.post("stop", { "for_good" => slot.given_up? })
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
        #: (Integer, BasicSocket, Rollout::Refork) -> void
        def retire_to_mold(number, socket, refork)
          @retired = true
          @refork = refork
          @state = :stopping
          @channel.post("become_mold", { "mold" => number }, give: [socket])
        end

        attr_reader :refork #: Rollout::Refork?, for which it is to become one

        # The process lives on as something else, whose its pidfd is from here on.
        def leave = @pidfd.tap { @pidfd = nil } #: () -> OS::Pidfd

        # The slot is its alone from here on (Child#take_place).
        def place = @channel.post("place") #: () -> void

        # Called with it when it is killed: it is to end soon.
        def expect_end(&block) = @expect_end = block #: () { (NodeProcess) -> void } -> void

        # Why it was killed, where it was none of us.
        def blame(reason) #: (String) -> void
          @reason = reason if @reason.nil? || @retired
        end

        # Have we ended it by force?
        def killed? = @killed ? true : false #: () -> bool

        # Ends it at once, for a reason that its exit will be reported with.
        def kill(reason, signal = :KILL) #: (String, ?Symbol) -> void
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
      end
    end
  end
end
