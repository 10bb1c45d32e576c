# frozen_string_literal: true

# From the end of a node's process to the decision what follows it.
#
#   exits = NodeExits.new(config, lifecycle, restarter:, …)
#   exits.follow(node)                 # it has been forked: watch for its end
#   exits.adopt(node)                  # its mold has died: the supervisor reaps it
#   exits.record_exit(node, status)    # it has ended so
#   exits.remove(node, status)         # the same, and nothing is published: it never ran
#   exits.channel_closed(node)
#   exits.leaving(node)                # it has said that it ends on its own
#
# Two things happen, in this order:
#
# 1. The node is lost (node_lost is announced): its pidfd is readable, or its exit is about to be
#    recorded. If the policy restarts its slot whatever its exit status, the next launch begins
#    at once.
# 2. Its exit is recorded (node_died or node_exited is published): the mold has reported it, or the
#    supervisor has reaped the node. The slot is free, or its successor's; Restarter decides.
#
# A mold reports exits at once. One that doesn't within two seconds is stuck, and killed. Where
# there are no pidfds (the fallbacks), the end of a node's channel is its end, the status unknown.
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

        def initialize(config, lifecycle, loop:, events:, node_table:, scoreboard:, cgroup_memory:,
                       boots:, replacements:, restarter:, grace:)
          @config = config
          @lifecycle = lifecycle
          @loop = loop
          @events = events
          @node_table = node_table
          @scoreboard = scoreboard
          @cgroup_memory = cgroup_memory
          @boots = boots
          @replacements = replacements
          @restarter = restarter
          @grace = grace
        end

        def follow(node)
          watch = @loop.watch(node.pidfd.to_io) do
            watch.cancel
            lost(node)
            expect_report(node) if node.live?
          end
          node.end_watch = watch
        end

        # A node that the mold hadn't reported yet is lost: the end of its channel ends it, and what
        # it has said isn't heard.
        def adopt(node)
          return lose(node) unless node.pidfd
          return await_report(node) unless node.pidfd.watchable? || node.channel.open?
          return unless node.pidfd.watchable?

          node.end_watch&.cancel
          node.end_watch = @loop.watch(node.pidfd.to_io) { reap(node) }
        end

        def record_exit(node, status)
          announce_loss(node)
          return unless node.live? # it had said that it is a mold now

          node.killed_by = IPC::ExitStatus::OOM if oom?(node, status)
          left = remove(node, status)
          publish_exit(node, status) if node.pid
          node.slot.exit_recorded unless left == :promoted
          follow_up(node, left) unless @lifecycle.stopping?
          node.slot.exit_recorded if left == :promoted
          @events.announce(:exit_recorded, node)
        end

        # The process is gone, or is a node no more. Returns what it leaves its slot: Slot#leave. A
        # launch that is queued for the slot is cancelled before anybody hears of the exit: the
        # restart policy decides about the next one (#follow_up).
        def remove(node, status)
          node.ended(status)
          @node_table.remove(node)
          left = node.slot.leave(node, status, OS.now, within: @config.restart_window)
          @boots.cancel(node.slot) unless left == :promoted
          @events.announce(:node_removed, node)
          left
        end

        # Sees to what follows a node that has been removed.
        def follow_up(node, left)
          slot = node.slot
          return promote(slot) if left == :promoted

          @replacements.failed(slot) if slot.replacement
          @restarter.after(slot, node) if left == :empty && !slot.retired?
          @boots.start_next
        end

        # No code of the node runs after SIGKILL, but its exit may take long, because of a debugger
        # or a disk. Its slot doesn't wait for that.
        def expect_exit(node)
          node.watches << @loop.after(2 * @config.kill_timeout) do
            next if node.exited?

            @events.publish(:node_unkillable, node, level: :error)
            record_exit(node, IPC::ExitStatus.new)
          end
        end

        # A node whose channel has closed has kill_timeout to exit; then it is killed.
        def channel_closed(node)
          await_report(node) unless node.mold.live?
          node.watches << @loop.after(@config.kill_timeout) { unreachable(node) } if node.live?
        end

        # The node has reported that it is stopping. It has stop_timeout, as after a stop.
        def leaving(node)
          return unless node.ready?

          node.leaving
          @grace.give(node)
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

        def lose(node)
          node.channel.close
          record_exit(node, IPC::ExitStatus.new)
        end

        # The slot is its successor's alone.
        def promote(slot)
          slot.replacement ? @replacements.promoted(slot) : slot.node.place
        end

        def lost(node)
          announce_loss(node)
          return if !node.live? || @lifecycle.stopping? || node.slot.replacement

          @restarter.restart_early(node) if node.slot.work?
        end

        def oom?(node, status)
          status.signal == "KILL" && !node.killed? && @cgroup_memory.oom?(status)
        end

        # Its last messages come before its exit.
        def announce_loss(node)
          return if node.lost?

          node.lost!
          node.channel.drain
          @events.announce(:node_lost, node)
        end

        def publish_exit(node, status)
          reason = node.reason
          @lifecycle.node_killed if status.signal && reason && reason != IPC::ExitStatus::OOM
          in_flight = @scoreboard.in_flight(node)
          @events.publish(status.clean? ? :node_exited : :node_died, node,
                          level: status.clean? ? :info : :warn, **status.to_plain, reason:,
                          phase: node.kind_of_death, in_flight: in_flight.any? ? in_flight : nil)
        end

        # The node runs on and can't be reached: it has closed all its descriptors, or executed
        # another program. If it has exited, its mold hasn't reported that yet.
        def unreachable(node)
          return if node.exited?

          @events.publish(:node_channel_closed, node, level: :error)
          node.kill("channel_closed")
          await_report(node)
        end

        # Where there is no pidfd to watch, the end of the channel stands for the end of the node.
        def await_report(node)
          return if !node.live? || node.pidfd&.watchable?

          node.mold.live? ? expect_report(node) : record_exit(node, IPC::ExitStatus.new)
        end

        def expect_report(node, steps = REPORT_STEPS)
          due = OS.now + REPORT_STEP
          node.watches << @loop.at(due) do
            steps -= 1 if OS.now - due < LATE
            next expect_report(node, steps) if steps.positive?

            node.mold.kill if node.mold.live?
          end
        end

        def reap(node)
          node.pidfd.kill_leftover_group
          status = node.pidfd.wait(timeout: 0)
          record_exit(node, IPC::ExitStatus.of(status)) if status
        end
      end

      # In a stop of the swarm, reports to nodes whose work is done that all nodes of the same Kafka
      # group, or of the same kind of work, are done: they leave the group then, together.
      #
      #   barrier = StopBarrier.new(nodes, config.tasks, events:)   # which are to stop
      #   barrier.finished(node)                                    # its work is done, and it waits
      class StopBarrier
        def initialize(nodes, tasks, events:)
          @groups = tasks.map.with_index { |task, number| task.dig("facts", "group") || number }
          @unfinished = nodes.reject { |node| node.helper? || node.lost? }
                             .group_by { |node| group(node) }
          @waiting = Hash.new { |all, group| all[group] = [] }
          events.subscribe(:node_lost, :node_removed) { |event| remove(event.subject) }
        end

        def finished(node)
          @waiting[group(node)] << node
          remove(node)
        end

        private

        def group(node) = node.task && @groups[node.task]

        def remove(node)
          left = @unfinished[group(node)] or return
          left.delete(node)
          @waiting.delete(group(node))&.each { |one| report_all_finished(one) } if left.empty?
        end

        def report_all_finished(node) = node.live? && node.channel.post("all_finished")
      end
    end
  end
end
