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
        attr_reader :generation # that its slot wanted when it was launched for it or took it
        attr_accessor :replace_for # a reason of its own to be replaced
        attr_accessor :refork # the Rollout::Refork that makes a mold of it in place of a stop
        attr_accessor :end_watch
        attr_accessor :clears_suspects # its work does (Node#crash_suspects)
        attr_accessor :node_memory # from its readiness on
        attr_accessor :grace_until # until when an overdue node isn't considered hung
        attr_accessor :diagnosis # of HungNodeKiller, until it is published

        def initialize(page_index, slot, mold, now)
          @page_index = page_index
          @slot = slot
          @mold = mold
          @generation = slot.generation
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
        def options = slot.options
        def event_facts = { node: label, mold: mold.number, pid:, **slot.work_fact }
        def helper? = slot.helper?
        def live? = LIVE.include?(@state)
        # Returns true if its process has ended, be it that its mold hasn't reported that yet.
        def exited? = !@pidfd.nil? && !@pidfd.closed? && !@pidfd.alive?
        def ready? = %i[ready quiet spare].include?(@state) # heartbeats are due
        # Returns true once its process has ended (NodeExits): its last messages have been heard.
        def lost? = @lost ? true : false
        def lost! = @lost = true
        def refused? = @refused ? true : false
        # The system has refused its fork: there was never such a process.
        def fork_refused? = @fork_refused ? true : false
        def fork_refused! = @fork_refused = true
        # "hung" or "unhealthy": it is being ended for that; nil: it isn't.
        attr_reader :failing

        def failing? = !@failing.nil?
        def failing!(failure) = @failing = failure == :hung ? "hung" : "unhealthy"

        # One of its threads makes no progress: it is to say where they stand, once in so many
        # seconds.
        def ask_for_lines(every:)
          now = OS.now
          return if @lines_asked_at && now < @lines_asked_at + every

          @lines_asked_at = now
          @channel.post("lines", may_drop: true)
        end

        def lines=(lines)
          @lines, @lines_at = lines, OS.now
        end

        # Returns the line at which the thread stands, if that was seen since then.
        def line(thread, since) = (@lines[thread] if @lines && @lines_at >= since)

        def assigned? = @assigned ? true : false
        def boot_seconds = @ready_at && (@ready_at - (@took_slot_at || @asked_at))

        # Before or after it was ready.
        def kind_of_death = @ready_at ? "work" : "boot"

        # Was it stopped for its successor or with its slot? Then its exit isn't counted as a death.
        def retired? = @retired ? true : false

        # It hasn't ended within stop_timeout: it is to be killed. `force` clears that.
        def overdue? = @overdue ? true : false
        def overdue! = @overdue = true

        # It is a successor from a mold that was rolled back: it is to be killed, unless its slot
        # wants none. `force` clears that.
        def rejected? = !@rejected_for.nil?
        def reject(reason) = @rejected_for = reason

        # Ends it at once, as it is overdue or rejected.
        def force
          kill(overdue? ? "stop_timeout" : @rejected_for)
          @overdue = false
          @rejected_for = nil
        end

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
          @generation = [generation, slot.generation].max
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

        # Its work ends because it was told of a quiet: it is a loop until `node.wait` returns true,
        # or a server that can't take new work again.
        def leaves_for_quiet = @leaves_for_quiet = true

        # Returns true if it has ended well because of a quiet, which is no crash. Its slot needs no
        # node before `resume`.
        def ended_by_quiet?
          reason.nil? && exit_status&.clean? && (quiet? || @leaves_for_quiet) ? true : false
        end

        # Returns how it has ended by a quiet, for RestartPolicy.
        def how_ended_by_quiet
          return quiet? ? :left_for_quiet : :left_for_past_quiet if @leaves_for_quiet

          :quiet
        end

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
        def place = @channel.post("place", give: slot.hand_over(self))

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
    end
  end
end
