# frozen_string_literal: true

# What a process' end comes to: it is told of and written down, and whoever follows is seen to.
#
#   node_exits = NodeExits.new(node_pool, node_registry, config, loop:, events:)
#   node_exits.exited(node)                 # it has ended, how is yet to be told
#   node_exits.record_exit(node, exit)      # this is how
#   node_exits.remove_process(node, exit)   # the same without a word: it never was
#   node_exits.expect(node)                 # it has been killed: should it not die of it …
#   node_exits.silent(node)                 # its channel has ended
#   node_exits.leaving(node)                # it ends by itself
module Skep
  class Swarm
    module Nodes
      class NodeExits
        attr_reader :recovery_times #: Stats::RecoveryTimes

        def initialize(node_pool, node_registry, config, loop:, events:)
          @node_pool = node_pool
          @node_registry = node_registry
          @config = config
          @loop = loop
          @events = events
          @recovery_times = Stats::RecoveryTimes.new
        end

        # Who follows it however it ended is forked first, as its successor.
        def exited(node) #: (NodeProcess) -> void
          hear_out(node)
          @node_registry.crash_attribution.record_crash(node)
          return if @node_pool.stopping? || @node_registry.replacements.of(node.slot)

          @node_registry.restarter.restart_early(node) if @node_pool.slots.include?(node.slot)
        end

        def record_exit(node, exit) #: (NodeProcess, IPC::ExitStatus) -> void
          hear_out(node)
          @node_registry.hang_diagnosis.over(node)
          oom = !node.killed? && @node_pool.cgroup_memory.oom?(exit)
          node.blame(Health::OomKills::REASON) if oom
          standing = remove_process(node, exit)
          tell_of(node, exit) if node.pid # of who was never forked nobody has heard
          pass_on(node, standing)
          @node_pool.release_if_unused(node.mold)
        end

        # The process is gone, or is a node no more. What it leaves its slot: see Slot#leave.
        #: (NodeProcess, IPC::ExitStatus?) -> (:held | :free | :unchanged)
        def remove_process(node, exit)
          node.ended
          @node_registry.liveness_monitor.forget(node)
          @node_pool.node_table.remove(node)
          @node_pool.totals.keep_of(node)
          node.slot.leave(node, exit, OS.now, within: @config.restarts_within)
        end

        def follow(node, standing) #: (NodeProcess, Symbol) -> void
          slot = node.slot
          return @node_registry.replacements.promoted(slot) if standing == :held

          @node_registry.replacements.failed(slot)
          free = standing == :free && @node_pool.all.include?(slot)
          @node_registry.restarter.after(slot, node) if free
          @node_registry.boots.start_next
        end

        # None of its code runs after SIGKILL, but it may be long in coming to its end: a debugger
        # holds it, or a disk. Its slot doesn't wait for that.
        def expect(node) #: (NodeProcess) -> void
          node.watches << @loop.after(2 * @config.kill_timeout) do
            @events.publish(:node_unkillable, node, level: :error)
            record_exit(node, IPC::ExitStatus.new)
          end
        end

        # It has closed its channel, and has some time to end too.
        def silent(node) #: (NodeProcess) -> void
          @node_registry.exit_watch.silent(node) unless node.mold.live?
          node.watches << @loop.after(@config.kill_timeout) { unresponsive(node) } if node.live?
        end

        # It ends by itself, or by a signal of somebody else's: it has the time of any stop.
        def leaving(node) #: (NodeProcess) -> void
          return unless node.ready?

          node.depart
          @node_registry.notice.give(node)
        end

        private

        # Its last words come before the news of its end.
        def hear_out(node)
          node.channel.drain
          recovery_times.lost(node, OS.now)
        end

        # What waited for its end to be written down: at once where nobody holds the slot, else when
        # who followed has it.
        def pass_on(node, standing)
          node.slot.settled unless standing == :held
          @node_pool.stopping? ? @node_pool.check : follow(node, standing)
          node.slot.settled if standing == :held
        end

        # It runs on and nobody can tell it anything: it has closed all its descriptors, or executed
        # another program.
        def unresponsive(node)
          @events.publish(:node_channel_closed, node, level: :error)
          node.kill("channel_closed")
          @node_registry.exit_watch.silent(node)
        end

        def tell_of(node, exit)
          held = @node_pool.in_hand(node)
          reason = node.reason
          @node_pool.killed if exit.signal && reason && reason != Health::OomKills::REASON
          @events.publish(exit.clean? ? :node_exited : :node_died, node,
                     level: exit.clean? ? :info : :warn, **exit.to_plain, reason:,
                     at: node.kind_of_death, in_hand: held.any? ? held : nil)
          @node_registry.crash_attribution.set_exit(node, exit)
        end
      end

      # Notices nodes' ends from the kernel. While their mold lives it tells how they ended, at once
      # or it is as good as dead; when it has died they have fallen to the supervisor, their
      # subreaper, which learns of their ends by itself.
      #
      #   exit_watch = ExitWatch.new(loop, gone: ->(node) { … }) { |node, exit| … }
      #                             # gone: it has ended; the block: how
      #   exit_watch.follow(node)     # it has been forked
      #   exit_watch.take(node)       # its mold has died
      #
      # Where there are no pidfds (the fallbacks) the end of a node's channel is the end of the
      # node, its status unknown.
      class ExitWatch
        # A mold has 2 seconds to report an exit that the kernel has told of, counted in steps of
        # 0.5 s. A step whose timer fires late doesn't count: the supervisor was paused or starved,
        # and the mold perhaps with it.
        STEP = 0.5
        STEPS = 4
        LATE = 0.05
        private_constant :STEP, :STEPS, :LATE

        #: (OS::EventLoop, gone: ^(NodeProcess) -> void)
        #:   { (NodeProcess, IPC::ExitStatus) -> void } -> void
        def initialize(loop, gone:, &ended)
          @loop = loop
          @gone = gone
          @ended = ended
        end

        def follow(node) #: (NodeProcess) -> void
          watch = @loop.watch(node.pidfd.to_io) do
            watch.cancel
            @gone.call(node)
            expect_report(node)
          end
          node.end_watch = watch
        end

        # A node that the mold hadn't reported yet is taken for lost:
        # its channel's end will tell it so.
        def take(node) #: (NodeProcess) -> void
          return @ended.call(node, IPC::ExitStatus.new) unless node.pidfd
          return silent(node) unless node.pidfd.watchable? || node.channel.open?

          return unless node.pidfd.watchable?

          node.end_watch&.cancel # and nothing else: it may be hung, or late to stop, as any other
          node.end_watch = @loop.watch(node.pidfd.to_io) { reap(node) }
        end

        # A node's channel has ended.
        # Where there is a pidfd it alone tells of the end; else this does.
        def silent(node) #: (NodeProcess) -> void
          return if !node.live? || node.pidfd&.watchable?

          node.mold.live? ? expect_report(node) : @ended.call(node, IPC::ExitStatus.new)
        end

        private

        def expect_report(node, steps = STEPS)
          due = OS.now + STEP
          node.watches << @loop.at(due) do
            steps -= 1 if OS.now - due < LATE
            next expect_report(node, steps) if steps.positive?

            node.mold.kill if node.mold.live?
          end
        end

        def reap(node)
          node.pidfd.kill_leftover_group
          status = node.pidfd.wait(timeout: 0)
          @ended.call(node, IPC::ExitStatus.of(status)) if status
        end
      end
    end
  end
end
