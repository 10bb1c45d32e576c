# frozen_string_literal: true

# One process of a node, as the supervisor knows it: its slot, its pidfd, its channel, its cells on
# the scoreboard.
#
#   node = NodeProcess.new(page_index, slot, mold, OS.now)
#   node.listens_to(channel)      # asked of the mold
#   node.forked(pid, pidfd)       # it exists
#   node.ready(now)               # it can work
#   node.stop                     # it is asked to end; node.kill("hung") ends it
#   node.ended(status)            # it is gone
#
# The next process of its slot is another object. It closes what it owns. NodePool and NodeExits
# decide when any of this is due.
module Skep
  class Swarm
    module Nodes
      class NodeProcess
        include Runtime::StateMachine

        # A spare waits in state spare, and is booting once more when it steps in.
        TRANSITIONS = {
          booting: { ready: :ready, wait: :spare, quiet: :booting, resume: :booting,
                     stop: :stopping, exit: :dead },
          spare: { step_in: :booting, quiet: :spare, resume: :spare, stop: :stopping,
                   exit: :dead },
          ready: { quiet: :quiet, resume: :ready, stop: :stopping, exit: :dead },
          quiet: { quiet: :quiet, resume: :ready, stop: :stopping, exit: :dead },
          stopping: { ready: :stopping, wait: :stopping, step_in: :stopping, quiet: :stopping,
                      resume: :stopping, stop: :stopping, exit: :dead },
          dead: {}
        }.freeze

        LIVE = %i[booting ready quiet stopping spare].freeze
        private_constant :LIVE

        attr_reader :page_index # its cells on the page
        attr_reader :slot
        attr_reader :mold
        attr_reader :channel
        attr_reader :pid
        attr_reader :pidfd
        attr_reader :work # what its source reports
        attr_reader :work_bytes # what that takes as JSON
        attr_reader :reason # why it is ended
        attr_reader :exit_status # how it has ended
        attr_reader :asked_at
        attr_reader :ready_at
        attr_writer :refused # it has said that it can't begin
        attr_accessor :end_watch
        attr_accessor :node_memory # from its readiness on

        def initialize(page_index, slot, mold, now)
          @page_index = page_index
          @slot = slot
          @mold = mold
          @asked_at = now
          @state = :booting
          @watches = []
          @work = {}
          @work_bytes = 0
          @said = {}
        end

        def listens_to(channel) = @channel = channel

        # What is cancelled at its end. Timers that have run are dropped, as some are set again and
        # again.
        def watches
          @watches.reject! { |one| one.respond_to?(:pending?) && !one.pending? }
          @watches
        end

        def unhealthy_reports = @unhealthy_reports ||= Health::UnhealthyReports.new

        def id = slot.id
        def label = slot.label # what events call it
        def task = slot.task
        def event_facts = { node: label, mold: mold.number, pid: }
        def helper? = slot.helper?
        def live? = LIVE.include?(@state)
        # Returns true if its process has ended, be it that its mold hasn't reported that yet.
        def exited? = !@pidfd.nil? && !@pidfd.closed? && !@pidfd.alive?
        def ready? = %i[ready quiet spare].include?(@state) # heartbeats are due
        # Returns true once node_lost was announced (NodeExits): its last messages have been heard.
        def lost? = @lost ? true : false
        def lost! = @lost = true
        def refused? = @refused ? true : false
        def assigned? = @assigned ? true : false
        def boot_seconds = @ready_at && (@ready_at - (@took_slot_at || @asked_at))

        # Before or after it was ready.
        def kind_of_death = @ready_at ? "work" : "boot"

        # Is another process to work in its slot once it is gone?
        def retired? = @retired ? true : false

        def forked(pid, pidfd)
          @pid = pid
          @pidfd = pidfd
        end

        # By when it must be ready, or a spare.
        def boot_timer=(timer)
          @boot_timer&.cancel
          @boot_timer = timer
        end

        def ready(now)
          @boot_timer&.cancel
          @ready_at = now
          slot.refusal = nil
          change(:ready)
          change(:quiet) if @quiet
        end

        # Booted, and waiting for a slot.
        def wait_as_spare(now)
          @boot_timer&.cancel
          @ready_at = now
          change(:wait)
        end

        # A spare is to work in that slot from here on. It stays a spare until it answers.
        def assign(slot, now)
          @slot = slot
          @took_slot_at = now
          @ready_at = nil
        end

        # Returns true for a spare that has a slot and hasn't answered yet.
        def stepping_in? = @state == :spare && !slot.spare?

        # Returns how many seconds the spare's answer took.
        def stepped_in(now)
          change(:step_in)
          now - @took_slot_at
        end

        def assigned(assigned) = @assigned = assigned

        def report(facts, bytes)
          @work, @work_bytes = facts, bytes
        end

        # Returns true for the first message of a type.
        def first?(type) = !@said.key?(type) && (@said[type] = true)

        def quiet
          @quiet = true
          change(:quiet)
          @channel.post("quiet")
        end

        def end_quiet
          @quiet = false
          change(:resume)
          @channel.post("resume")
        end

        # Returns true if the swarm has asked it to take nothing new.
        def quiet? = @quiet ? true : false

        # Returns true if it has ended well because it was quiet: its work is a loop until
        # `node.wait` returns true. That is no crash, and its slot needs no node until `resume`.
        def ended_by_quiet? = quiet? && reason.nil? && exit_status&.clean? ? true : false

        # all: the whole swarm stops.
        def stop(all: false)
          change(:stop)
          @channel.post("stop", { "scaling_down" => slot.retired?, "all" => all })
        end

        # It ends on its own.
        def leaving = change(:stop)

        # Why it is to end; the first reason counts.
        def reason=(reason)
          @reason ||= reason
        end

        # Stops it in favour of its successor, or for good.
        def retire
          @retired = true
          stop
        end

        # Its work is to end, and the process to become a mold, which is heard over that socket.
        def retire_to_mold(number, socket)
          @retired = true
          @becoming_mold = true
          change(:stop)
          @channel.post("become_mold", { "mold" => number }, give: [socket])
        end

        # Returns true if it was ordered to become a mold, and hasn't yet.
        def becoming_mold? = @becoming_mold && state == :stopping

        # The process lives on as something else, whose its pidfd is from here on.
        def give_up_pidfd = @pidfd.tap { @pidfd = nil }

        # The slot is its alone from here on (Node#wait_for_predecessor).
        def place = @channel.post("place")

        # Called with the node when it is killed: it is to end soon.
        def when_killed(&block) = @when_killed = block

        # Why it was killed by something else than the supervisor.
        def killed_by=(reason)
          @reason = reason if @reason.nil? || @retired
        end

        # Did the supervisor kill it?
        def killed? = @killed ? true : false

        # Ends it at once, for a reason that its exit will be reported with.
        def kill(reason, signal = :KILL)
          return if exited? # on its own: that isn't reported yet

          @reason = reason if @reason.nil? || @retired
          @killed = true if signal == :KILL
          return unless @pid # NodePool kills it when it is forked

          expect_exit if signal == :KILL
          @pidfd&.signal(signal)
        rescue Errno::ESRCH, Errno::EPERM # it exited first; or it runs a setuid program
          nil
        end

        # It is hung or unhealthy: TERM now, more from HungNodeKiller.
        def terminate(reason)
          @terminated = true
          kill(reason, :TERM)
        end

        def terminated? = @terminated ? true : false

        # Closes all that belonged to the process. status: nil if it lives on as a mold.
        def ended(status)
          change(:exit)
          @exit_status = status
          [@boot_timer, @end_watch, *@watches].compact.each(&:cancel)
          @watches.clear
          [@channel, @pidfd].compact.each(&:close)
        end

        def inspect = "#<#{self.class} #{label} #{state} pid=#{pid.inspect}>"

        private

        def expect_exit
          @when_killed&.call(self)
          @when_killed = nil
        end
      end

      # The node processes that exist, by their index on the shared page.
      #
      #   node_table = NodeTable.new(1_024)
      #   node = node_table.add { |page_index| NodeProcess.new(page_index, slot, mold, now) }
      #   node_table[node.page_index]   # => node
      #   node_table.remove(node)       # frees its index
      #
      # The process of a node whose mold died before it reported the fork may exist, unknown to the
      # supervisor, until `orphan_timeout`, and write to its cells. Until then no other node gets
      # its index, as long as there are others.
      #
      # There are more indices than slots: during a replacement a slot has two processes. Indices
      # that were never used take no memory of the page.
      class NodeTable
        # No index is free. It is reported like a fork that the system refuses.
        class Full < StandardError
          def initialize = super("the page has no room for another node")
        end

        LEAST = 1_024
        private_constant :LEAST

        # Returns the capacity for a number of slots: two processes each, and room for new slots.
        def self.slots_for(slots) = [4 * slots, LEAST].max

        attr_reader :capacity

        # quarantine: seconds until the index of a node is free whose fork was never reported.
        def initialize(capacity, quarantine: 0.0)
          @capacity = capacity
          @quarantine = quarantine
          @nodes = {}
          @next = 0
          @free = []
          @unreported = [] # [index, since]
        end

        def nodes = @nodes.values
        def [](page_index) = @nodes[page_index]
        def include?(node) = @nodes[node.page_index].equal?(node)

        def of(mold)
          nodes.select { |node| node.mold == mold }
        end

        # Returns true if there are processes other than the helper.
        def work? = @nodes.any? { |_, node| !node.helper? }

        def add
          release_unreported
          page_index = @free.shift || unused
          @nodes[page_index] = yield page_index
        end

        def remove(node)
          return unless @nodes.delete(node.page_index)

          node.pid ? @free << node.page_index : @unreported << [node.page_index, OS.now]
        end

        private

        def release_unreported(now = OS.now)
          while @unreported.any? && @unreported.first.last + @quarantine <= now
            @free << @unreported.shift.first
          end
        end

        def unused
          return (@next += 1) - 1 if @next < @capacity

          index, = @unreported.shift
          index or raise Full
        end
      end
    end
  end
end
