# frozen_string_literal: true

# The nodes of a swarm: their slots, their processes and what happens to them. The rest of skep
# changes them by its methods only; inside, BootQueue launches, NodeExits records exits, and
# Restarter and Replacements decide what follows.
#
#   pool = NodePool.new(config, lifecycle, loop:, events:, page:, layout:)
#   pool.mold = mold                             # it can fork from here on; nil: nothing can
#   pool.start
#   pool.replace(slot, "restart") { |done| … }   # a successor first, then the old node stops
#   pool.terminate(node, "scale")                # stops it, and kills it at stop_timeout
#   pool.add(task, 2)                            # two slots more; remove(slot, reason)
#   pool.stop
#   pool.kill_all("QUIT")
#
# The supervisor reports what molds say of nodes (node_forked, fork_failed, node_exited),
# NodeMessages what nodes say themselves (node_ready, …). The pool publishes the events that users
# see, and announces: work_ended (outcome), nodes_killed, mold_unused, pool_drained, node_warm,
# node_promoted (pidfd), node_unfit (sentence), status_asked. It never waits: everything comes
# through the loop.
module Skep
  class Swarm
    module Nodes
      class NodePool
        FORK_RETRY = 0.1 # seconds, where the system refused a fork
        private_constant :FORK_RETRY

        attr_reader :slots # those with work
        attr_reader :node_table # the processes
        attr_reader :scoreboard
        attr_reader :totals, :recovery_times
        attr_reader :boots, :replacements
        attr_reader :crash_attribution
        attr_reader :hung_node_killer, :liveness_monitor
        attr_reader :cgroup_memory
        attr_reader :memory_monitor

        def initialize(config, lifecycle, loop:, events:, page:, layout:)
          @config = config
          @lifecycle = lifecycle
          @loop = loop
          @events = events
          @page = page
          @layout = layout
          @slots = config.placement.each_with_index.map { |task, id| Slot.new(id, task) }
          @helper = HelperSlot.new(config.events) if config.helper?
          build
          subscribe
        end

        # All slots: those with work, the helper's if there is one, and the spares'.
        def all = [*@helper, *slots, *spare_slots]
        def spare_slots = @spares&.slots || []
        def mold = @boots.mold
        def stopping? = @lifecycle.stopping?
        def ever_ready? = @ever_ready ? true : false

        # How many slots the page has room for, each with a successor.
        def room = node_table.capacity / 2

        # How busy a slot's node is: how many items are in flight.
        def load(slot) = slot.nodes.sum { |node| scoreboard.in_flight(node).size }

        # Commands.

        def start
          @started = true
          all.each { |slot| @boots.enqueue(slot) }
        end

        def mold=(mold)
          @boots.mold = mold
          subscribe_helper(mold.events) if mold&.events&.any?
        end

        # Boots a successor for the slot's node, from the current mold or another. When it is ready
        # the old node is stopped; if it can't begin, the old node stays. The block gets true if a
        # successor has taken over.
        def replace(slot, reason, **how, &done)
          stopping? ? done&.call(false) : @replacements.start(slot, reason, **how, &done)
        end

        # Ends the successor that a slot is to get: its node stays.
        def cancel_replacement(slot, reason)
          return unless slot.replacement

          slot.successor ? slot.successor.kill(reason) : @replacements.failed(slot)
        end

        # Runs the block once the replacement that the slot has is over.
        def when_replaced(slot, &) = @replacements.when_over(slot, &)

        # Is the slot's node being replaced, or about to be?
        def replacing?(slot) = !slot.replacement.nil?

        # A slot that waits after an exit gets its node at once, from this mold if one is given.
        def start_now(slot, mold: nil) = @boots.start_now(slot, mold:)

        # Stops a node, and kills it at stop_timeout.
        def terminate(node, reason) = @replacements.retire(node, reason)

        # So many slots more for a kind of work. An id is free once the last process that had it has
        # gone.
        def add(task, count)
          taken = [*slots, *node_table.nodes].map(&:id)
          free = (0..).lazy.reject { |id| taken.include?(id) }
          added = free.first(count).map { |id| Slot.new(id, task) }
          @slots.concat(added).sort_by!(&:id)
          added.each { |slot| @boots.enqueue(slot) }
        end

        # Removes a slot; its node is stopped for good.
        def remove(slot, reason)
          @slots.delete(slot)&.retire
          recovery_times.forget(slot)
          @boots.cancel(slot)
          @replacements.failed(slot) if slot.replacement
          slot.nodes.each { |node| terminate(node, reason) }
        end

        # Nodes take nothing new; those that are forked from here on neither (Lifecycle#quiet?).
        def quiet
          node_table.nodes.each { |node| node.quiet unless node.helper? }
        end

        # Nodes take new work again. Those whose work ended by quiet are started (Restarter).
        def end_quiet
          node_table.nodes.each { |node| node.end_quiet unless node.helper? }
          slots.each { |slot| start_now(slot) }
        end

        def backtraces = node_table.nodes.each { |node| node.channel.post("backtraces") }

        # Asks every node to end; what is left at stop_timeout is killed.
        def stop
          finish_slots
          @stop_barrier = StopBarrier.new(node_table.nodes, @config.tasks, events: @events)
          node_table.nodes.each { |node| node.stop(all: true) unless node.helper? }
          @stop_timers = @grace.give_all(node_table) { stop_timed_out }
          check_drained
        end

        # Ends every node at once.
        def kill_all(reason)
          @lifecycle.force
          finish_slots
          @events.announce(:nodes_killed)
          node_table.nodes.each { |node| node.kill(reason) }
          check_drained
        end

        # The helper.

        # All events are for the helper, of which there is one from here on.
        def pass_on_events
          @helper ||= HelperSlot.new(@config.events)
          @helper.subscribe_all
          boot_helper
        end

        # Lends the helper a socket to serve at (HelperSlot#serve).
        def serve(...) = @helper&.serve(...)

        # Boots the helper, if there is to be one and there is none.
        def boot_helper
          return if !@helper || !@started || stopping? || @helper.live? || @helper.waiting?

          @boots.enqueue(@helper)
        end

        # Reported by molds.

        def node_forked(page_index, pid, pidfd)
          node = node_table[page_index]
          return @exits.kill_unwanted(pidfd) unless node && node.pid.nil?

          node.forked(pid, pidfd)
          node.when_killed { |killed| @exits.expect_exit(killed) }
          @events.publish(:node_forked, node)
          node.channel.listen # not before: its messages need a node with a pid
          admit(node)
          @exits.follow(node) if node.live? && pidfd&.watchable?
        end

        def fork_failed(page_index, error)
          node = node_table[page_index] or return
          @exits.remove(node, IPC::ExitStatus.new)
          retry_fork(node.slot, error)
          announce_unused(node.mold)
        end

        def node_exited(page_index, pid, exit)
          node = node_table[page_index]
          @exits.record_exit(node, exit) if node&.pid == pid
        end

        # The supervisor adopts its nodes. Those that it hadn't reported count as exited: such a
        # process ends when its channel closes.
        def mold_exited(mold)
          @boots.lose(mold)
          node_table.of(mold).each { |node| @exits.adopt(node) }
        end

        # Reported by nodes.

        def node_ready(node)
          return if node.state == :spare # it has no slot to be ready for

          node.ready(OS.now)
          @ever_ready = true unless node.helper?
          node.slot.ready
          @events.publish(:node_ready, node, duration: node.boot_seconds.round(6))
          boot_finished(node)
        end

        # A spare has booted.
        def spare_ready(node)
          return unless node.slot.spare?

          node.wait_as_spare(OS.now)
          node.slot.ready
          @events.publish(:spare_ready, node, duration: node.boot_seconds.round(6))
          boot_finished(node)
        end

        # A spare begins to work in the slot that it was given.
        def spare_stepped_in(node)
          return unless node.stepping_in?

          seconds = node.stepped_in(OS.now)
          node.boot_timer = @loop.deadline(@config.boot_timeout) { node.kill("boot_timeout") }
          @events.publish(:spare_stepped_in, node, duration: seconds.round(6))
        end

        def node_finished(node) = @stop_barrier&.finished(node)

        # A node's process is a mold from here on.
        def became_mold(node)
          pidfd = node.give_up_pidfd
          left = @exits.remove(node, nil)
          @events.publish(:node_became_mold, node)
          @events.announce(:node_promoted, node, pidfd:)
          stopping? ? check_drained : @exits.follow_up(node, left)
        end

        private

        def build
          @node_table = NodeTable.new(@layout.nodes, quarantine: @config.orphan_timeout + 1)
          @scoreboard = IPC::Scoreboard::Reader.new(@page, @layout)
          @totals = Stats::WorkTotals.new
          @recovery_times = Stats::RecoveryTimes.new
          shared = { loop: @loop, events: @events }
          @crash_attribution = Health::CrashAttribution.new(self, scoreboard:, events: @events)
          build_restarts(shared)
          @hung_node_killer = Health::HungNodeKiller.new(@config, scoreboard:, **shared)
          @liveness_monitor = Health::LivenessMonitor.new(@config, scoreboard:, node_table:,
                                                          **shared,
                                                          &@hung_node_killer.method(:start))
          @cgroup_memory = Memory::CgroupMemory.new(OS::Cgroup.of, events: @events)
          @memory_monitor = Memory::MemoryMonitor.new(self, @config, cgroup_memory, **shared,
                                                      samples: scoreboard.method(:memory_sample),
                                                      restart_policy: @restarter.policy)
          @exits = NodeExits.new(@config, @lifecycle, **shared,
                                 node_table:, scoreboard:, cgroup_memory:, boots:, replacements:,
                                 restarter: @restarter, grace: @grace)
          @messages = NodeMessages.new(self, @exits, **shared)
        end

        def build_restarts(shared)
          @grace = GracePeriod.new(@config, loop: @loop)
          @boots = BootQueue.new(@config, **shared, page: @page, layout: @layout, node_table:,
                                                    suspects: crash_attribution,
                                                    connect: method(:connect))
          @replacements = Replacements.new(@grace, boots: @boots, events: @events)
          if @config.spares.positive?
            @spares = SparePool.new(@config, boots:, replacements:, crash_attribution:)
          end
          @restarter = Restarter.new(@config, **shared, slots:, boots: @boots, spares: @spares)
        end

        def connect(node, channel) = @messages.connect(node, channel)

        def subscribe
          @events.subscribe { |event| pass_on(event) if @helper }
          @events.subscribe(:launch_failed) do |event|
            slot = event.subject
            slot.died("boot", OS.now, @config.restart_window) unless slot.live?
            retry_fork(event.subject, event.facts[:error])
          end
          @events.subscribe(:node_ready) { |event| recovery_times.ready(event.subject, OS.now) }
          @events.subscribe(:node_lost) { |event| recovery_times.lost(event.subject, OS.now) }
          @events.subscribe(:node_removed) { |event| totals.add_exited(event.subject) }
          @events.subscribe(:exit_recorded) { |event| exit_recorded(event.subject) }
        end

        # Passes an event on to the helper, and reports those that were lost before.
        def pass_on(event)
          @helper.post_event(event.name.to_s, event.facts, event.level)
          report_dropped(@helper.take_dropped)
        end

        def report_dropped(count)
          @events.publish(:events_dropped, @helper, level: :warn, count:) if count.positive?
        end

        # A helper that is still there has cost no node anything.
        def stop_timed_out
          return kill_all("stop_timeout") if node_table.work?

          node_table.nodes.each { |node| node.kill("stop_timeout") }
        end

        def exit_recorded(node)
          announce_unused(node.mold)
          check_drained if stopping?
        end

        def announce_unused(mold)
          @events.announce(:mold_unused, mold) if node_table.of(mold).empty?
        end

        def boot_finished(node)
          @replacements.ready(node) if node.slot.replacement
          @boots.start_next
        end

        # There is a helper from here on, and these events are for it. The code of a new mold may
        # have blocks for other events than that of the last one.
        def subscribe_helper(events)
          @helper ||= HelperSlot.new(@config.events)
          @helper.subscribe(events)
          boot_helper
        end

        # What a node that has just been forked must know.
        def admit(node)
          return node.kill("forced") if @lifecycle.killed? || node.killed?
          return if node.helper?

          node.quiet if @lifecycle.quiet?
          node.stop if stopping?
        end

        def retry_fork(slot, error)
          @events.publish(:fork_failed, slot, level: :error, error:, retry_in: FORK_RETRY)
          return check_drained if stopping?

          slot.failure = error
          @replacements.failed(slot) if slot.replacement
          @boots.later(slot, FORK_RETRY) unless slot.live?
          @boots.start_next # what waits for its turn to boot
        end

        # No slot is to have a process any more.
        def finish_slots
          @boots.close
          @replacements.abandon
          all.each do |slot|
            @boots.cancel(slot)
            slot.finish
          end
        end

        # Announces that no node of a stopping swarm is left. The helper stops last.
        def check_drained
          return if @drained || node_table.work?

          report_dropped(@helper.take_dropped(last: true)) if @helper
          return @helper.stop_last if @helper&.live?

          @drained = true
          @stop_timers&.each(&:cancel)
          @events.announce(:pool_drained)
        end
      end
    end
  end
end
