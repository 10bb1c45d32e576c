# frozen_string_literal: true

# The nodes of a swarm: their slots, their processes and what happens to them. The rest of skep
# changes them by its methods only.
#
#   pool = NodePool.new(supervisor, config, lifecycle, loop:, events:, page:, layout:)
#   pool.mold = mold                        # it can fork from here on; nil: nothing can
#   pool.start
#   pool.renew(slot, 2, "restart")          # its process is to be of generation 2
#   pool.replace(node, "memory_limit")      # a successor first, then the node stops
#   pool.terminate(node, "memory_limit")    # stops it now, and kills it at stop_timeout
#   pool.add(task, 2)                       # two slots more; remove(slot, reason)
#   pool.stop
#   pool.kill_all("QUIT")
#
# Each of these, and each report of a mold (node_forked, fork_failed, node_exited) and of a node
# (node_ready, …), only writes facts into slots and processes, and calls `reconcile(slot)`: it asks
# SlotPolicy what is to be done for the slot, and does it, until there is nothing left to do now.
# Only `stop`, `kill_all` and `terminate` act on processes themselves, before the policy is asked.
#
# It publishes the events that users see, and calls the supervisor for what isn't about nodes. It
# never waits: everything comes through the loop.
module Skep
  class Swarm
    module Nodes
      class NodePool
        # Seconds before the next spare is forked: its boot would take the processor from the one
        # that has been given a slot, and from the mold that is to report the exit.
        REFILL_DELAY = 0.05
        # Seconds before stop_timeout at which a node that hasn't ended is asked for its backtraces.
        BACKTRACE_SECONDS = 1.0
        UNFIT_SECONDS = 20.0 # between two replacements of a slot's process that fails
        private_constant :UNFIT_SECONDS, :REFILL_DELAY, :BACKTRACE_SECONDS

        attr_reader :slots # those with work
        attr_reader :spare_slots
        attr_reader :node_table # the processes
        attr_reader :scoreboard
        attr_reader :totals, :recovery_times
        attr_reader :budget
        attr_reader :crash_attribution
        attr_reader :hung_node_killer, :liveness_monitor, :profile_collector
        attr_reader :cgroup_memory
        attr_reader :memory_monitor
        attr_reader :revision # of the code of the last mold; nil: not known
        attr_accessor :generation # of the slots' processes, unless a rollout has failed
        attr_writer :rollout # is told to look at the slots after each fact; nil: none is under way

        def initialize(supervisor, config, lifecycle, loop:, events:, page:, layout:)
          @supervisor = supervisor
          @config = config
          @lifecycle = lifecycle
          @loop = loop
          @events = events
          @page = page
          @layout = layout
          @slots = config.placement.each_with_index.map { |task, id| slot(id, task) }
          @spare_slots = Array.new(config.spares) { |one| SpareSlot.new(one, options: config) }
          @helper = helper_slot if config.helper?
          @generation = @last_generation = 0
          build
          @events.subscribe { |event| pass_on(event) if @helper }
        end

        # All slots: those with work, the helper's if there is one, and the spares'.
        def all = [*@helper, *slots, *spare_slots]
        def mold = @budget.mold
        def stopping? = @lifecycle.stopping?
        def ever_ready? = @ever_ready ? true : false

        # A number for a rollout.
        def take_generation = @last_generation += 1

        # How many slots the page has room for, each with a successor.
        def room = node_table.capacity / 2

        # How busy a slot's node is: how many items are in flight.
        def load(slot) = slot.nodes.sum { |node| scoreboard.in_flight(node).size }

        # Asks what is to be done for a slot, and does it. To be called after each fact about it.
        def reconcile(slot)
          act(slot)
          @rollout&.look
        end

        # Commands.

        def start
          @budget.open
          all.each(&:want)
          all.each { |slot| reconcile(slot) }
          look_at_all_in(@config.liveness_timeout)
        end

        def mold=(mold)
          @budget.mold = mold
          @revision = mold.revision if mold
          subscribe_helper(mold.events) if mold&.events&.any?
          use_budget
        end

        # The slot's processes are to be of that generation, and the next forked from that mold, if
        # one is given; otherwise from the present one. If a slot waits after an exit, it doesn't
        # any longer.
        def renew(slot, generation, reason, mold: nil)
          slot.renew(generation, reason, mold:)
          start_now(slot)
        end

        # Boots a successor for a node. When it is ready the node is stopped; if it can't begin, the
        # node stays. refork: makes a mold of the node in place of a stop.
        def replace(node, reason, refork: nil)
          node.replace_for = reason
          node.refork = refork
          reconcile(node.slot)
        end

        # A node fails with all that it tries. why: "unfit", if other nodes succeed with the same,
        # which is published as that event; "another_process", if that isn't known. A slot whose
        # last process was unfit a moment ago waits: its next process may suffer from the same.
        def replace_failing(node, why, event, facts)
          slot, now = node.slot, OS.now
          return unless %w[unfit another_process].include?(why) && node.ready?
          return if slot.last_unfit && now - slot.last_unfit[:at] < UNFIT_SECONDS

          slot.last_unfit = { **facts, at: now, pid: node.pid, why: }
          @events.publish(event, node, level: :error, **facts) if why == "unfit"
          replace(node, why) unless node.replace_for
        end

        # Ends a successor from a mold that was rolled back.
        def reject(successor, reason)
          successor.reject(reason)
          reconcile(successor.slot)
        end

        # A slot that waits after an exit gets its node at once.
        def start_now(slot)
          slot.not_before = nil
          slot.interrupted = false
          reconcile(slot)
        end

        # Stops a node, and kills it at stop_timeout.
        def terminate(node, reason)
          node.reason = reason
          node.retire
          give_grace(node)
          reconcile(node.slot)
          use_budget # it may have been booting
        end

        # So many slots more for a work. An id is free once the last process that had it has
        # gone.
        def add(task, count)
          taken = [*slots, *node_table.nodes].map(&:id)
          free = (0..).lazy.reject { |id| taken.include?(id) }
          added = free.first(count).map { |id| slot(id, task) }
          @slots.concat(added).sort_by!(&:id)
          added.each do |slot|
            slot.renew(generation, nil)
            slot.want
            reconcile(slot)
          end
        end

        # Removes a slot; its node is stopped for good. It may have been the last with work.
        def remove(slot, reason)
          @slots.delete(slot)&.retire
          slot.removed_for = reason
          recovery_times.forget(slot)
          end_replacement(slot, succeeded: false)
          reconcile(slot)
          end_of_work
        end

        # Nodes take nothing new; those that are forked from here on neither (Lifecycle#quiet?).
        def quiet
          node_table.nodes.each { |node| node.quiet unless node.helper? }
        end

        # Nodes take new work again. Those whose work ended by quiet are started (RestartPolicy).
        # What waits after a crash waits on.
        def end_quiet
          node_table.nodes.each { |node| node.end_quiet unless node.helper? }
          slots.each { |slot| start_now(slot) if slot.ended_by_quiet? }
        end

        def backtraces = ask_for_backtraces(node_table.nodes)

        # See Profiling::ProfileCollector#start.
        def profile(seconds, &answer)
          profile_collector.start(slots.filter_map(&:node), seconds, &answer)
        end

        # Asks every node to end; what is left at its stop_timeout is killed.
        def stop
          finish_slots
          @stop_barrier = StopBarrier.new(node_table.nodes, @config.tasks)
          node_table.nodes.each { |node| node.stop(all: true) unless node.helper? }
          @stop_timers = limit_stops
          check_drained
        end

        # Ends every node at once.
        def kill_all(reason)
          @lifecycle.force
          finish_slots
          @supervisor.kill_molds_later
          node_table.nodes.each { |node| node.kill(reason) }
          check_drained
        end

        # The helper.

        # All events are for the helper, of which there is one from here on.
        def pass_on_events
          @helper ||= helper_slot
          @helper.subscribe_all
          boot_helper
        end

        # Lends the helper a socket to serve at (HelperSlot#serve).
        def serve(...) = @helper&.serve(...)

        # Reported by molds.

        def node_forked(page_index, pid, pidfd)
          @supervisor.leader(pid)
          node = node_table[page_index]
          return pidfd&.close if node && node.pid == pid # it was reported before
          return @exits.kill_unwanted(pidfd) unless node && node.pid.nil?

          node.forked(pid, pidfd)
          node.when_killed { |killed| @exits.expect_exit(killed) }
          @events.publish(:node_forked, node)
          node.channel.listen # not before: its messages need a node with a pid
          admit(node)
          @exits.follow(node) if node.live? && pidfd
          fork_granted
        end

        def fork_failed(page_index, error)
          node = node_table[page_index] or return
          slot = node.slot
          node.fork_refused!
          left = @exits.remove(node, IPC::ExitStatus.new)
          slot.node.place if left == :promoted
          end_replacement(slot, succeeded: false) if left == :empty
          fork_refused(slot, error)
          reconcile(slot)
          use_budget
          let_go_unused(node.mold)
          check_drained if stopping?
          end_of_work unless slot.wanted?
        end

        def node_exited(page_index, pid, exit)
          node = node_table[page_index]
          @exits.record_exit(node, exit) if node&.pid == pid
        end

        # The supervisor adopts its nodes. Those that it hadn't reported count as exited: such a
        # process ends when its channel closes.
        def mold_exited(mold)
          @budget.mold = nil if @budget.mold == mold
          node_table.of(mold).each { |node| @exits.adopt(node) }
        end

        # Reported by nodes.

        def node_ready(node)
          return if node.slot.spare? || node.stepping_in? # it has no slot to be ready for

          node.ready(OS.now)
          recovery_times.ready(node, OS.now)
          @events.publish(:node_ready, node, duration: node.boot_seconds.round(6))
          first_ready unless @ever_ready || node.helper?
          memory_monitor.watch(node)
          booted(node)
        end

        # A spare has booted.
        def spare_ready(node)
          return unless node.slot.spare?

          node.wait_as_spare(OS.now)
          @events.publish(:spare_ready, node, duration: node.boot_seconds.round(6))
          booted(node)
        end

        # A spare begins to work in the slot that it was given.
        def spare_stepped_in(node)
          return unless node.stepping_in?

          seconds = node.stepped_in(OS.now)
          @launcher.limit_boot(node)
          @budget.booting(node)
          @events.publish(:spare_stepped_in, node, duration: seconds.round(6))
        end

        # A node has begun to end on its own. It has stop_timeout, as after a stop.
        def node_leaving(node, for_quiet: nil)
          node.leaves_for_quiet if for_quiet
          return unless node.ready?

          node.leaving
          give_grace(node)
          reconcile(node.slot)
        end

        def node_finished(node) = @stop_barrier&.finished(node)

        # A node's process is a mold from here on.
        def became_mold(node)
          pidfd = node.give_up_pidfd
          left = @exits.remove(node, nil)
          @events.publish(:node_became_mold, node)
          node.refork.promoted(pidfd)
          exited(node, left)
        end

        # Called by NodeExits, in this order.

        # A node's process has ended, which isn't recorded yet.
        def lost(node)
          hung_node_killer.publish(node) if node.diagnosis
          recovery_times.lost(node, OS.now)
          @stop_barrier&.gone(node)
          profile_collector.lost(node)
        end

        # A process has left its slot; it may never have been forked, or be a mold now.
        def removed(node)
          totals.add_exited(node)
          @stop_barrier&.gone(node)
          profile_collector.lost(node)
        end

        # node_died or node_exited is published.
        def exit_published(node)
          crash_attribution.node_exited(node, node.exit_status)
          @supervisor.node_exited
        end

        # The exit of a node's process is recorded; left: Slot#leave.
        def exited(node, left)
          follow_up(node, left) unless stopping?
          node.refork&.ended
          let_go_unused(node.mold)
          check_drained if stopping?
          @rollout&.look
        end

        private

        def slot(id, task)
          Slot.new(id, task, options: @config.works[task],
                             progress_cells: @config.tasks.dig(task, "progress"))
        end

        def helper_slot = HelperSlot.new(@config.events, options: @config)

        def build
          @node_table = NodeTable.new(@layout.nodes, quarantine: @config.orphan_timeout + 1)
          @scoreboard = IPC::Scoreboard::Reader.new(@page, @layout)
          @totals = Stats::WorkTotals.new
          @recovery_times = Stats::RecoveryTimes.new
          @restart_policies = Hash.new { |all, options| all[options] = RestartPolicy.new(options) }
                                  .compare_by_identity
          @budget = Budget.new(@config, node_table:, slots: -> { slots }, spare: method(:spare_for))
          @waiting = WaitingSlots.new(@budget)
          shared = { loop: @loop, events: @events }
          @crash_attribution = Health::CrashAttribution.new(self, scoreboard:, events: @events)
          @hung_node_killer = Health::HungNodeKiller.new(scoreboard:, **shared)
          @liveness_monitor = Health::LivenessMonitor.new(@config, scoreboard:, node_table:,
                                                          **shared,
                                                          &@hung_node_killer.method(:start))
          @profile_collector = Profiling::ProfileCollector.new(loop: @loop)
          @cgroup_memory = Memory::CgroupMemory.new(OS::Cgroup.of, events: @events)
          @memory_monitor = Memory::MemoryMonitor.new(self, @config, cgroup_memory, **shared,
                                                      samples: scoreboard.method(:memory_sample),
                                                      restart_policies: @restart_policies)
          build_processes(shared)
        end

        def build_processes(shared)
          @exits = NodeExits.new(self, @config, @lifecycle, **shared)
          @messages = NodeMessages.new(@supervisor, self, @exits, **shared)
          @launcher = Launcher.new(loop: @loop, page: @page, layout: @layout, node_table:,
                                   suspects: crash_attribution,
                                   connect: @messages.method(:connect))
        end

        # Now and then at all slots: a bug of skep's, too, costs a slot no more than that time. What
        # wakes the loop up in its second half serves as well.
        def look_at_all_in(seconds)
          @loop.at(OS.now + seconds, early: seconds / 2) do
            look_at_all_in(seconds)
            crash_attribution.forget_old
            all.each do |slot|
              slot.forget_old_backtraces
              reconcile(slot)
            end
          end
        end

        # What reconcile does.

        def act(slot)
          action = nil
          until action == :wait
            end_replacement(slot, succeeded: true) if slot.replaced?
            drop_replacement(slot) if slot.successor_due?
            action, subject = SlotPolicy.next(slot, OS.now, @budget)
            case action
            when :launch then launch(slot)
            when :launch_successor then launch_successor(slot)
            when :stop then stop_process(slot, subject)
            when :kill then subject.force
            when :wait then wait(slot, subject)
            end
          end
        end

        def launch(slot)
          spare = spare_for(slot)
          spare ? step_in(spare, slot) : fork_node(slot)
        end

        def launch_successor(slot)
          begin_replacement(slot) unless slot.successor_due?
          fork_node(slot)
        end

        def begin_replacement(slot)
          reason = slot.begin_replacement
          @budget.replacing(slot)
          @events.publish(:node_replacing, slot, reason:)
        end

        # Nothing is to be replaced any more, while its successor couldn't be forked.
        def drop_replacement(slot)
          end_replacement(slot, succeeded: false) unless slot.reason_to_replace
        end

        def fork_node(slot)
          @budget.booting(@launcher.launch(slot, @budget.mold_for(slot)))
        rescue SystemCallError, NodeTable::Full => e # no descriptor for its channel, no room
          fork_refused(slot, e.message)
        end

        # All slots that need a fork wait for the end of the backoff. Of forks that were asked for
        # at the same time the first is reported.
        def fork_refused(slot, error)
          seconds = @budget.backoff.refused(OS.now)
          slot.fork_refused(error)
          return unless seconds

          @events.publish(:fork_failed, slot, level: :error, error:, retry_in: seconds)
          @loop.at(@budget.backoff.retry_at) { use_budget } unless stopping?
        end

        # The other slots needn't wait any longer.
        def fork_granted
          return unless @budget.backoff.refused?

          @budget.backoff.granted
          use_budget
        end

        # Returns the spare that is to take the slot of a node that has died, if one waits. No spare
        # is too old because of a restart of that slot alone.
        def spare_for(slot)
          return if !slot.interrupted? || slot.trial_mold

          least = [slot.generation, generation].min
          spare_slots.filter_map(&:spare).find { |spare| spare.generation >= least }
        end

        # The slot is the spare's from here on. The suspects go first: the spare must know them
        # before it works.
        def step_in(spare, slot)
          crash_attribution.inform(spare)
          spare.channel.post("step_in", { "node" => slot.id, "task" => slot.task },
                             give: slot.hand_over(spare))
          spare_slot = spare.slot
          left = spare_slot.vacate(spare)
          spare.assign(slot, OS.now)
          @launcher.limit_boot(spare)
          slot.launch(spare)
          refill(spare_slot, left)
        end

        # left: :kept if the spare was a successor, whose old spare is stopping.
        def refill(spare_slot, left)
          spare_slot.node.place if left == :promoted
          if left == :kept
            spare_slot.node.replace_for = nil
            end_replacement(spare_slot, succeeded: true)
          end
          spare_slot.not_before = OS.now + REFILL_DELAY
          reconcile(spare_slot)
        end

        def stop_process(slot, process)
          return process.stop(all: true) if stopping?

          process.reason = slot.removed_for || slot.replacing
          process.refork && slot.wanted? ? process.refork.become_mold(process) : process.retire
          give_grace(process)
          use_budget # it may have been booting
        end

        # A node that is to end has stop_timeout.
        def give_grace(node)
          limit_stop(node.options.stop_timeout, -> { [node] }) do
            node.overdue!
            reconcile(node.slot)
          end.each { |timer| node.watches << timer }
        end

        # In a stop of the swarm each work has its own stop_timeout. At the longest, all that is
        # left is killed. Returns the timers.
        def limit_stops
          left = -> { node_table.nodes.reject(&:helper?) }
          works = left.call.group_by { |node| node.options.stop_timeout }
          longest = works.keys.max || @config.stop_timeout
          earlier = works.except(longest).flat_map do |seconds, nodes|
            own = -> { nodes.select(&:live?) }
            limit_stop(seconds, own) { own.call.each { |node| node.kill("stop_timeout") } }
          end
          [*earlier, *limit_stop(longest, left) { stop_timed_out }]
        end

        # Calls the block after so many seconds. Shortly before, it requests the nodes' backtraces,
        # so that the log shows why they didn't end in time. Returns the timers.
        def limit_stop(seconds, nodes, &)
          before = [BACKTRACE_SECONDS, seconds / 2].min
          [@loop.deadline(seconds - before) { ask_for_backtraces(nodes.call) },
           @loop.deadline(seconds, &)]
        end

        def ask_for_backtraces(nodes) = nodes.each { |node| node.channel.post("backtraces") }

        # until_then: a time, or what it needs of the budget; nil: until the next fact.
        def wait(slot, until_then)
          time = until_then.is_a?(Float)
          @waiting.put(slot, time ? nil : until_then)
          slot.timer&.cancel
          return unless time && until_then.finite?

          slot.timer = @loop.at(until_then) { reconcile(slot) }
        end

        # Slots that wait for the budget may have what they need now.
        def use_budget
          acted = false
          @waiting.each_due(spares: -> { spare_slots.any?(&:spare) }) do |slot|
            acted = true
            act(slot)
          end
          @rollout&.look if acted
        end

        def end_replacement(slot, succeeded:)
          reason = slot.end_replacement or return
          @budget.replaced(slot)
          slot.replacement_failed unless succeeded
          unwanted = stopping? || !slot.wanted?
          @events.publish(succeeded ? :node_replaced : :replacement_failed, slot,
                          level: succeeded || unwanted ? :info : :error, reason:)
          @rollout&.look # it may want no further replacement
          use_budget
        end

        # What follows an exit.

        def follow_up(node, left)
          slot = node.slot
          slot.node.place if left == :promoted # the slot is its alone
          after_exit(slot, node, left) if slot.wanted? && left != :kept
          end_replacement(slot, succeeded: false) unless left == :promoted && slot.wanted?
          @rollout&.look # the next process may have to come from another mold
          reconcile(slot)
          use_budget
          end_of_work unless slot.wanted?
        end

        # A successor needs no decision, unless the node has ended its work before it was to go.
        def after_exit(slot, node, left)
          decision = restart_policy(slot).decide(facts_of_exit(slot, node), OS.now)
          return if left == :promoted && decision != :done

          case decision
          when :done then done(slot, node)
          when :give_up then give_up(slot, node)
          else postpone(slot, node, decision)
          end
        end

        # A status says that the work is finished only if the node ended on its own.
        def facts_of_exit(slot, node)
          exitstatus = slot.last_exit&.exitstatus unless slot.last_reason
          RestartPolicy::Exited.new(deaths: slot.deaths.times, clean: slot.clean?, exitstatus:,
                                    how: how_ended(slot, node))
        end

        def restart_policy(slot) = @restart_policies[slot.options]

        def how_ended(slot, node)
          return :beside_the_work if slot.helper? || slot.spare?
          return :refused if node.refused?
          return :became_mold unless node.exit_status
          return :unforked unless node.pid
          return :retired if node.retired?

          node.how_ended_by_quiet if node.ended_by_quiet?
        end

        def postpone(slot, node, seconds)
          deaths, how = slot.deaths.times, how_ended(slot, node)
          slot.not_before = [OS.now + seconds, *slot.not_before].max # MemoryMonitor may have set it
          slot.interrupted = seconds.zero? &&
                             [nil, :unforked, :retired, :left_for_past_quiet].include?(how)
          crash_loop = restart_policy(slot).crash_loop?(deaths, OS.now) &&
                       [nil, :unforked, :retired, :beside_the_work].include?(how)
          begin_crash_loop(slot, node) if crash_loop && !slot.looping?
          return unless crash_loop || how == :refused

          @events.publish(:node_waiting, node, level: :warn, retry_in: seconds.round(3),
                                               deaths: deaths.size)
        end

        def begin_crash_loop(slot, node)
          @events.publish(:crash_loop, node, level: :error, deaths: slot.deaths.times.size,
                                             phase: node.kind_of_death,
                                             duration: slot.options.restart_window)
          slot.looping = true
        end

        def done(slot, node)
          @events.publish(:node_finished, node)
          slot.finish
        end

        # Ends the swarm once no slot is to have a node, and none is left.
        def end_of_work
          return if stopping? || slots.any?(&:waiting?) || node_table.nodes.any?(&:task)

          clean = slots.all? { |other| other.last_exit.nil? || other.clean? }
          @supervisor.stop(reason: clean ? :done : :unclean)
        end

        def give_up(slot, node)
          begin_crash_loop(slot, node)
          slot.finish
          @supervisor.stop(reason: :gave_up)
        end

        # Ends a slot's crash loop once its node has worked, or waited as a spare, for
        # restart_window.
        def clear_crash_loop_later(node)
          slot = node.slot
          node.watches << @loop.at(node.ready_at + slot.options.restart_window) do
            # It has left the spares for another slot; or its predecessor, which was slow to stop,
            # has ended the crash loop.
            next unless node.slot == slot && slot.looping?

            slot.looping = false
            @events.publish(:crash_loop_ended, node)
          end
        end

        def first_ready
          @ever_ready = true
          @supervisor.booted
        end

        def booted(node)
          clear_crash_loop_later(node) if node.slot.looping?
          reconcile(node.slot)
          use_budget
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

        def let_go_unused(mold)
          @supervisor.mold_unused(mold) if node_table.of(mold).empty?
        end

        # There is a helper from here on, and these events are for it. The code of a new mold may
        # have blocks for other events than that of the last one.
        def subscribe_helper(events)
          @helper ||= helper_slot
          @helper.subscribe(events)
          boot_helper
        end

        # Once the swarm has started, a new helper boots.
        def boot_helper
          return unless @budget.open?

          @helper.want
          reconcile(@helper)
        end

        # What a node that has just been forked must know.
        def admit(node)
          return node.kill(node.reason || "forced") if @lifecycle.killed? || node.killed?

          node.quiet if @lifecycle.quiet? && !node.helper?
        end

        # No slot is to have a process any more. The helper goes last.
        def finish_slots
          @budget.close
          all.each do |slot|
            slot.timer&.cancel
            slot.finish unless slot.helper?
          end
          @waiting.clear
          all.each { |slot| end_replacement(slot, succeeded: false) }
          @rollout&.look
        end

        # Ends the stop once no node is left. The helper stops last.
        def check_drained
          return if @drained || node_table.work?

          report_dropped(@helper.take_dropped(last: true)) if @helper
          return @helper.stop_last if @helper&.live?

          @drained = true
          @stop_timers&.each(&:cancel)
          @supervisor.finish
        end
      end
    end
  end
end
