# frozen_string_literal: true

# Writes down each process' birth and readiness, and what becomes of it; its end is NodeExits'.
#
#   node_registry = NodeRegistry.new(node_pool, config, loop:, page:, layout:, events:, spares:)
#   node_registry.forked(page_index, pid, pidfd)     # what the mold reports
#   node_registry.exited(page_index, pid, exit)
#   node_registry.mold_died(mold)
#   node_registry.boots                        # whom to fork, and when
#   node_registry.replacements                 # who takes over from whom
#
# What the node pool wants of its nodes (to be quiet, to end) is asked of it.
module Skep
  class Swarm
    module Nodes
      class NodeRegistry
        FORK_RETRY = 0.1 # seconds, where the system refused a fork
        private_constant :FORK_RETRY

        attr_reader :boots #: BootQueue
        attr_reader :replacements #: Replacements
        attr_reader :liveness_monitor #: Health::LivenessMonitor
        attr_reader :scoreboard #: IPC::Scoreboard::Reader
        attr_reader :crash_attribution #: Health::CrashAttribution
        attr_reader :hang_diagnosis #: Health::HangDiagnosis
        attr_reader :notice #: GracePeriod
        attr_reader :exit_watch #: ExitWatch
        attr_reader :restarter #: Restarter
        attr_reader :node_exits #: NodeExits
        attr_reader :spares #: Spares::SparePool?, nil where there are to be none

        def memory_monitor = @node_pool.memory_monitor #: () -> Memory::MemoryMonitor
        def recovery_times = node_exits.recovery_times #: () -> Stats::RecoveryTimes

        # spares: makes the Spares::SparePool, as its `new` does.
        def initialize(node_pool, config, loop:, page:, layout:, events:, spares:)
          @node_pool = node_pool
          @config = config
          @loop = loop
          @events = events
          @scoreboard = IPC::Scoreboard::Reader.new(page, layout)
          @notice = GracePeriod.new(config, loop:)
          @crash_attribution = Health::CrashAttribution.new(node_pool, scoreboard:, events:)
          @node_exits = NodeExits.new(node_pool, self, config, loop:, events:)
          appoint_watchman
          appoint({ loop:, page:, layout: }, spares)
        end

        def forked(page_index, pid, pidfd) #: (Integer, Integer, OS::Pidfd?) -> void
          node = node_table[page_index]
          return unwanted(pidfd) unless node && node.pid.nil?

          node.forked(pid, pidfd)
          node.expect_end { |killed| node_exits.expect(killed) }
          @events.publish(:node_forked, node)
          node.channel.listen # not before: what it says must find a node with a pid
          admit(node)
          @exit_watch.follow(node) if node.live? && pidfd&.watchable?
        end

        # A node that works since before this program began.
        def resume(node, node_memory) #: (NodeProcess, Hash[String, untyped]?) -> void
          node.expect_end { |killed| node_exits.expect(killed) }
          node.channel.listen
          node.mold.live? ? @exit_watch.follow(node) : @exit_watch.take(node)
          @liveness_monitor.watch(node)
          memory_monitor.resume(node, node_memory)
          @restarter.clear_crash_loop_later(node)
        end

        #: (NodeProcess, IPC::Channel) -> IPC::Connection
        def link(node, channel)
          @node_messages.link(node, channel)
        end

        def fork_failed(page_index, error) #: (Integer, String) -> void
          node = node_table[page_index] or return
          node_exits.remove_process(node, IPC::ExitStatus.new)
          unforked(node.slot, error)
        end

        def exited(page_index, pid, exit) #: (Integer, Integer, IPC::ExitStatus) -> void
          node = node_table[page_index]
          node_exits.record_exit(node, exit) if node&.pid == pid
        end

        # The mold is gone: its nodes fell to us, and those it hadn't reported are taken for lost.
        def mold_died(mold) #: (Molds::Mold) -> void
          @boots.lose(mold)
          node_table.of(mold).each { |node| @exit_watch.take(node) }
        end

        def ready(node) #: (NodeProcess) -> void
          node.ready(OS.now)
          @node_pool.booted unless node.helper?
          @events.publish(:node_ready, node, seconds: node.boot_seconds.round(6))
          recovery_times.ready(node, OS.now)
          @liveness_monitor.watch(node)
          memory_monitor.watch(node)
          @restarter.clear_crash_loop_later(node)
          @replacements.ready(node)
          @boots.start_next
        end

        # A spare has booted.
        def spare_ready(node) #: (NodeProcess) -> void
          return unless node.slot.spare?

          node.spare(OS.now)
          @events.publish(:spare_ready, node, seconds: node.boot_seconds.round(6))
          @liveness_monitor.watch(node)
          @replacements.ready(node)
          @boots.start_next
        end

        # A spare begins to work in the slot that it was given.
        def spare_stepped_in(node) #: (NodeProcess) -> void
          return unless node.stepping_in?

          seconds = node.stepped_in(OS.now)
          node.boot_timer = @loop.after(@config.boot_timeout) { node.kill("boot_timeout") }
          @events.publish(:spare_stepped_in, node, seconds: seconds.round(6))
        end

        # The helper wants to know how things stand.
        def asked(node, number) = @node_pool.answer(node, number) #: (NodeProcess, Integer) -> void

        # It has done enough to be worth forking from.
        def warm(node) = @node_pool.warm(node) #: (NodeProcess) -> void

        # A node's process is a mold from here on.
        def became_mold(node) #: (NodeProcess) -> void
          pidfd = node.leave
          standing = node_exits.remove_process(node, nil)
          @events.publish(:node_became_mold, node)
          node.refork.became(node, pidfd)
          node_exits.follow(node, standing) unless @node_pool.stopping?
          @node_pool.check if @node_pool.stopping?
        end

        def retire(...) = @replacements.retire(...) #: (NodeProcess, String) -> void

        private

        # Who says when a node is hung, and who ends it then.
        def appoint_watchman
          shared = { loop: @loop, scoreboard:, events: @events }
          @hang_diagnosis = Health::HangDiagnosis.new(@config, **shared)
          @liveness_monitor = Health::LivenessMonitor.new(@config, **shared,
                                                          looked: @node_pool.method(:looked),
                                                          &@hang_diagnosis.method(:open))
        end

        # Who says when a node has ended, or may be forked.
        def appoint(shared, spares)
          @exit_watch = ExitWatch.new(@loop, gone: node_exits.method(:exited),
                                      &node_exits.method(:record_exit))
          @node_messages = NodeMessages.new(@loop, self, events: @events)
          @boots = BootQueue.new(@config, **shared, node_table:, node_messages: @node_messages,
                                                    crash_attribution:, failed: method(:no_channel))
          @replacements = Replacements.new(notice, boots: @boots, events: @events)
          @spares = spares.call(@config, self) if @config.spares.positive?
          @restarter = Restarter.new(@config, loop: @loop, slots: @node_pool.slots, boots: @boots,
                                              events: @events, spares: @spares,
                                              over: @node_pool.method(:over))
        end

        def node_table = @node_pool.node_table

        # What a node that has just been forked must know.
        def admit(node)
          return node.kill("forced") if @node_pool.killed?
          return if node.helper?

          node.quiet if @node_pool.quiet? && !@node_pool.stopping?
          node.stop if @node_pool.stopping?
        end

        # Nobody waits for that process any more: its node was given up while it was being forked.
        def unwanted(pidfd)
          pidfd&.signal(:KILL)
        rescue Errno::ESRCH # it went by itself first
          nil
        ensure
          pidfd&.close
        end

        def no_channel(slot, error)
          slot.died("boot", OS.now, @config.restarts_within)
          unforked(slot, error)
        end

        def unforked(slot, error)
          @events.publish(:fork_failed, slot, level: :error, error:, seconds: FORK_RETRY)
          return @node_pool.check if @node_pool.stopping?

          slot.live? ? @replacements.failed(slot) : @boots.later(slot, FORK_RETRY)
        end
      end
    end
  end
end
