# frozen_string_literal: true

# From the end of a node's process to its record.
#
#   exits = NodeExits.new(pool, config, loop:, events:, …)
#   exits.follow(node)                 # it has been forked: watch for its end
#   exits.adopt(node)                  # its mold has died: the supervisor reaps it
#   exits.record_exit(node, status)    # it has ended so
#   exits.remove(node, status)         # the same, and nothing is published: it never ran
#   exits.channel_closed(node)
#
# Two things happen, in this order:
#
# 1. The node is lost (NodePool#lost): its pidfd is readable, or its exit is about to be recorded.
#    Its last messages are heard.
# 2. Its exit is recorded (node_died or node_exited is published): the kernel shows how it failed,
#    the mold has reported it, or the supervisor has reaped the node. NodePool#exited sees to its
#    slot.
#
# A mold reaps and reports exits at once. One that doesn't within two seconds is stuck, and killed.
# Where there are no pidfds (the fallbacks), a node has ended when its channel has. It is looked for
# every liveness_timeout as well, since a process that it has forked may hold the channel open. If
# its mold has died, its exit status is unknown.
module Skep
  class Swarm
    module Nodes
      class NodeExits
        # The two seconds are counted in steps. A step whose timer fires late doesn't count: the
        # supervisor was paused or starved, and perhaps the mold with it.
        REPORT_STEP = 0.5
        REPORT_STEPS = 4
        LATE = 0.05
        private_constant :REPORT_STEP, :REPORT_STEPS, :LATE

        def initialize(pool, config, lifecycle, loop:, events:)
          @pool = pool
          @config = config
          @lifecycle = lifecycle
          @loop = loop
          @events = events
        end

        def follow(node)
          return poll(node) unless node.pidfd.watchable?

          watch = @loop.watch(node.pidfd.to_io) do
            watch.cancel
            ended(node)
          end
          node.end_watch = watch
        end

        # A node whose fork the mold hadn't reported counts as exited: the end of its channel ends
        # it, and what it has said isn't heard.
        def adopt(node)
          return assume_exit(node) unless node.pidfd
          return await_report(node) unless node.pidfd.watchable? || node.channel.open?
          return unless node.pidfd.watchable?

          node.end_watch&.cancel
          node.end_watch = @loop.watch(node.pidfd.to_io) { reap(node) }
        end

        def record_exit(node, status)
          lose(node)
          return unless node.live? # it had said that it is a mold now

          node.killed_by = IPC::ExitStatus::OOM if oom?(node, status)
          left = remove(node, status)
          publish_exit(node, status) if node.pid
          @pool.exited(node, left)
        end

        # The process is gone, or is a node no more. Returns what it leaves its slot: Slot#leave.
        def remove(node, status)
          node.ended(status)
          @pool.node_table.remove(node)
          left = node.slot.leave(node, status, OS.now, within: node.options.restart_window)
          @pool.removed(node)
          left
        end

        # No code of the node runs after SIGKILL, but its exit may take long, because of a debugger
        # or a disk. Its slot doesn't wait for that.
        def expect_exit(node)
          node.watches << @loop.after(2 * node.options.kill_timeout) do
            next if node.exited?

            @events.publish(:node_unkillable, node, level: :error)
            record_exit(node, IPC::ExitStatus.new)
          end
        end

        # A node whose channel has closed has kill_timeout to exit; then it is killed.
        def channel_closed(node)
          await_report(node) unless node.mold.live?
          node.watches << @loop.after(node.options.kill_timeout) { unreachable(node) } if node.live?
        end

        # Ends a process whose node was given up while it was being forked.
        def kill_unwanted(pidfd)
          pidfd&.signal(:KILL)
        rescue Errno::ESRCH, Errno::EPERM # it has exited on its own; or it runs a setuid program
          nil
        ensure
          pidfd&.close
        end

        private

        def assume_exit(node)
          node.channel.close
          record_exit(node, IPC::ExitStatus.new)
        end

        def poll(node)
          return look(node) if node.exited?

          seconds = @config.liveness_timeout
          node.end_watch = @loop.after(seconds, early: seconds / 2) { poll(node) }
        end

        # Sees to the end of a node that has exited, unless that is watched.
        def look(node)
          return if node.pidfd.watchable?

          node.mold.live? ? ended(node) : await_report(node)
        end

        # Its slot needn't wait for its mold, which may be busy or stopped.
        def ended(node)
          lose(node)
          return unless node.live?

          failure = node.pidfd.failure
          failed(node, IPC::ExitStatus.numbered(*failure)) if failure
          expect_report(node)
        end

        # It isn't reaped yet. Its mold may never come to end what is left of its process group.
        def failed(node, status)
          node.pidfd.kill_leftover_group
          record_exit(node, status)
        end

        def oom?(node, status)
          status.signal == "KILL" && !node.killed? && @pool.cgroup_memory.oom?(status)
        end

        # Its last messages come before its exit.
        def lose(node)
          return if node.lost?

          node.lost!
          node.channel.drain
          @pool.lost(node)
        end

        def publish_exit(node, status)
          ended_by_skep = (node.killed? || node.terminated?) && status.exitstatus.nil?
          @lifecycle.node_killed if ended_by_skep && !node.helper?
          in_flight = @pool.scoreboard.in_flight(node)
          @events.publish(status.clean? ? :node_exited : :node_died, node,
                          level: status.clean? ? :info : :warn, **status.to_plain,
                          reason: node.reason, phase: node.kind_of_death,
                          in_flight: in_flight.any? ? in_flight : nil)
          @pool.exit_published(node)
        end

        # The node runs on and can't be reached: it has closed all its descriptors, or executed
        # another program. If it has exited, its mold hasn't reported that yet.
        def unreachable(node)
          return look(node) if node.exited?

          @events.publish(:node_channel_closed, node, level: :error)
          node.kill("channel_closed")
          await_report(node)
        end

        # Where there is no pidfd to watch, the end of the channel stands for the end of the node.
        # Without a mold that would end what is left of its group, the supervisor does.
        def await_report(node)
          return if !node.live? || node.pidfd&.watchable?
          return expect_report(node) if node.mold.live?

          kill_group(node)
          record_exit(node, IPC::ExitStatus.new)
        end

        # It may not have exited yet, although its channel has closed.
        def kill_group(node)
          node.pidfd&.signal(:KILL, group: true)
        rescue Errno::ESRCH, Errno::EPERM # nothing is left; or it is another user's
          nil
        end

        # A mold that doesn't report the exit is killed. Where the exit is recorded without it, any
        # message of the mold's shows that it isn't stuck.
        def expect_report(node, steps = REPORT_STEPS, since = OS.now)
          due = OS.now + REPORT_STEP
          node.mold.watches << @loop.at(due) do
            next unless node.live? || node.mold.heard_at <= since

            steps -= 1 if OS.now - due < LATE
            steps.positive? ? expect_report(node, steps, since) : node.mold.kill("hung")
          end
        end

        def reap(node)
          node.pidfd.kill_leftover_group
          status = node.pidfd.wait(timeout: 0)
          record_exit(node, IPC::ExitStatus.of(status)) if status
        end
      end
    end
  end
end
