# frozen_string_literal: true

# Keeps the nodes: boots them, replaces them, stops them.
# It acts on what the judges say and on what it is told.
#
#   node_pool = NodePool.new(config, supervisor, loop:, page:, layout:)
#   node_pool.mold = mold        # from here on it can fork (nil: it can't for the moment)
#   node_pool.start
#   node_pool.replace(slot, "restart") { |ok| … }   # the new one ready first
#   node_pool.stop               # the supervisor's `finish` is called when the last node is gone
#
# Whether the swarm is stopping the supervisor's Lifecycle knows alone; when the work has ended on
# its own the node pool asks the supervisor to stop.
# It knows no signal, no file and no user's code, and it never waits: all comes through the loop.
module Skep
  class Swarm
    module Nodes
      class NodePool
        attr_reader :slots #: Array[Slot], those with work
        attr_reader :node_table #: NodeTable, the processes
        attr_reader :node_registry #: NodeRegistry
        attr_reader :cgroup_memory #: Memory::CgroupMemory
        attr_reader :memory_monitor #: Memory::MemoryMonitor
        attr_reader :totals #: Stats::WorkTotals

        # The supervisor is told by: told (name, level, facts), stop (the work has ended by itself),
        # forced (nodes are killed instead of stopped), emptied (a mold, none of whose nodes is
        # left), looked, and finish, once. kept: the slots that there are already, [id, kind of
        # work].
        # spares: makes the Spares::SparePool, as its `new` does.
        def initialize(config, supervisor, loop:, page:, layout:, spares:, kept: nil)
          @config = config
          @supervisor = supervisor
          @events = supervisor.events
          @loop = loop
          @page = page
          @layout = layout
          @node_table = NodeTable.new(layout.nodes)
          @totals = Stats::WorkTotals.new
          furnish(kept)
          appoint(spares)
        end

        # All slots: those with work, the helper's if there is one, and the spares'.
        def all = [*@helper, *slots, *spare_slots] #: () -> Array[Slot]
        def spare_slots = node_registry.spares&.spare_slots || [] #: () -> Array[Spares::SpareSlot]

        def ever_ready? = @ever_ready ? true : false #: () -> bool
        def stopping? = @supervisor.stopping? #: () -> bool
        def killed? = @killed ? true : false #: () -> bool

        # Why it ended by itself: :done, :unclean (not all of the work ended well) or :gave_up.
        attr_reader :outcome #: Symbol?

        # Can't this first boot come to anything? Of each kind of work a node has said that it can't
        # begin, or died more often than it may, and so have as many nodes as boot at a time.
        def hopeless? #: () -> bool
          return false if ever_ready?

          failed = slots.select { |slot| slot.refusal || slot.deaths.times.size > @config.restarts }
          failed.size >= [@config.boot_parallel, slots.size].min &&
            (slots.map(&:task) - failed.map(&:task)).empty?
        end

        #: (NodeProcess?) -> Float?
        def beat_age(node)
          node&.ready? ? node_registry.liveness_monitor.age(node) : nil
        end

        # What a node complains of, if it does.
        #: (NodeProcess?) -> String?
        def ailment(node) = node&.ready? ? node_registry.liveness_monitor.ailment(node) : nil

        def done_count(node) #: (NodeProcess?) -> Integer
          return 0 unless node

          done = IPC::Scoreboard::Layout::DONE
          @layout.all(node.page_index).sum { |cell| @page.get(cell, done) }
        end

        # How busy a slot's node is: what it has in hand.
        def load(slot) #: (Slot) -> Integer
          slot.nodes.sum { |node| in_hand(node).size }
        end

        # How many slots the page has room for, each with a successor.
        def room = node_table.capacity / 2 #: () -> Integer

        def mold = @boots.mold #: () -> Molds::Mold?

        def mold=(mold) #: (Molds::Mold?) -> void
          @boots.mold = mold
          heed(mold.events) if mold&.events&.any?
        end

        def start #: () -> void
          @started = true
          all.each { |slot| @boots.enqueue(slot) }
        end

        # All events are for the helper, of which there is one from here on.
        def pass_on #: () -> void
          employ
          @helper.subscribe_all
          attend
        end

        # Boots the helper, if it isn't there and is to be.
        def attend #: () -> void
          return if !@helper || !@started || stopping? || @helper.live? || @helper.waiting?

          @boots.enqueue(@helper)
        end

        # Passes an event on to the helper, if users' blocks want it. Events about the helper itself
        # are left out: each would cause the next.
        def overheard(name, facts) #: (String, Hash) -> void
          @helper&.tell(name, facts) unless facts[:node] == "helper"
        end

        # Lends the helper a socket to serve at (HelperSlot#serve).
        def serve(...) = @helper&.serve(...) #: (BasicSocket, ?anew: bool) -> void

        # Boots a successor for the slot's node, from the current mold or another. When it is ready
        # the old one is stopped; where it can't begin the old one stays. The block is told which.
        #: (Slot, String, **untyped) ?{ (bool succeeded) -> void } -> void
        def replace(slot, reason, **how, &done)
          stopping? ? done&.call(false) : @replacements.begin(slot, reason, **how, &done)
        end

        # Makes room for so many more nodes of a kind of work; returns their slots. An id is free
        # once the last process that had it has gone.
        def add(task, count) #: (Integer, Integer) -> Array[Slot]
          taken = [*slots, *node_table.nodes].map(&:id)
          free = (0..).lazy.reject { |id| taken.include?(id) }
          added = free.first(count).map { |id| Slot.new(id, task) }
          @slots.concat(added).sort_by!(&:id)
          added.each { |slot| @boots.enqueue(slot) }
        end

        # Stops this slot's node for good.
        def remove(slot, reason) #: (Slot, String) -> void
          @slots.delete(slot)&.give_up
          node_registry.recovery_times.forget(slot)
          @replacements.failed(slot)
          slot.nodes.each { |node| @replacements.retire(node, reason) }
        end

        # What the next program of the supervisor must know.
        def dump(state_file) #: (Upgrade::StateFile) -> Hash[String, untyped]
          { "mold" => mold.number, "quiet" => quiet?, "node_table" => node_table.dump,
            "slots" => slots.map { |slot| slot.dump(state_file) },
            "helper" => @helper&.dump(state_file),
            "reserves" => spare_slots.map { |slot| slot.dump(state_file) },
            "suspects" => node_registry.crash_attribution.dump,
            "cgroup_memory" => cgroup_memory.dump,
            "liveness_monitor" => node_registry.liveness_monitor.dump,
            "recycler" => memory_monitor.recycler.dump, "totals" => totals.dump,
            "recovery_times" => node_registry.recovery_times.dump }
        end

        def restore(plain) #: (Hash[String, untyped]) -> void
          @started = @ever_ready = true
          employ if plain["helper"]
          @quiet = plain["quiet"]
          node_table.restore(plain["node_table"])
          cgroup_memory.restore(plain["cgroup_memory"])
          node_registry.crash_attribution.restore(plain["suspects"].to_a)
          node_registry.liveness_monitor.restore(plain["liveness_monitor"])
          memory_monitor.recycler.restore(plain["recycler"])
          totals.restore(plain["totals"]) if plain["totals"]
          node_registry.recovery_times.restore(plain["recovery_times"]) if plain["recovery_times"]
        end

        # Asks every node to end; what is left at stop_timeout is killed.
        def stop #: () -> void
          retire_slots
          node_table.nodes.each { |node| node.stop unless node.helper? }
          @stop_timers = node_registry.notice.give_all(node_table) { force("stop_timeout") }
          check
        end

        # Ends every node at once.
        def force(reason) #: (String) -> void
          @killed = true
          retire_slots
          @supervisor.forced
          node_table.nodes.each { |node| node.kill(reason) }
          check
        end

        # Nodes take nothing new, those that will replace them neither.
        def quiet #: () -> void
          @quiet = true
          node_table.nodes.each { |node| node.quiet unless node.helper? }
        end

        #: () -> void
        def backtraces
          node_table.nodes.each { |node| node.channel.post("backtraces") }
        end

        # Asked by the NodeRegistry.

        def quiet? = @quiet ? true : false #: () -> bool
        def booted = @ever_ready = true #: () -> void
        def looked(...) = @supervisor.looked(...) #: (Float, bool) -> void

        #: (Molds::Mold) -> void
        def release_if_unused(mold)
          node_table.of(mold).empty? && @supervisor.release_if_unused(mold)
        end

        def warm(node) #: (NodeProcess) -> void
          @supervisor.warm(node) if @config.refork_after && node.task
        end

        # How things stand, for the helper.
        def answer(node, number) #: (NodeProcess, Integer) -> void
          return unless node.helper?

          @supervisor.snapshots.each do |facts|
            break if node.channel.post("answer", { number:, status: facts }, may_drop: true)
          end
        end

        # A node came to its end by us.
        def killed #: () -> void
          @killed = true if stopping?
        end

        # What a node has in hand, on the page, be it dead.
        def in_hand(node) = node_registry.scoreboard.in_hand(node) #: (NodeProcess) -> Array[String]

        # The work ended by itself, or there is no use in going on.
        #: (Symbol) -> void
        def over(outcome)
          @outcome = outcome
          @supervisor.stop(reason: outcome)
        end

        # Is nobody left of a swarm that is stopping?
        #: () -> void
        def check
          return if @ended || node_table.work?
          return @helper.stop_last if @helper&.live?

          @ended = true
          @stop_timers&.each(&:cancel)
          @supervisor.finish
        end

        private

        def appoint(spares)
          @node_registry = NodeRegistry.new(self, @config, loop: @loop, page: @page,
                                                           layout: @layout, events: @events,
                                                           spares:)
          @boots, @replacements = node_registry.boots, node_registry.replacements
          @cgroup_memory = Memory::CgroupMemory.new(OS::Cgroup.of, events: @events)
          weights = node_registry.scoreboard.method(:weight)
          @memory_monitor = Memory::MemoryMonitor.new(self, @config, cgroup_memory,
                                                      loop: @loop, events: @events, weights:)
        end

        def furnish(kept)
          places = kept || @config.placement.each_with_index.map { |task, id| [id, task] }
          @slots = places.map { |id, task| Slot.new(id, task) }
          employ if @config.helper?
        end

        def employ = @helper ||= HelperSlot.new(@config.events)

        # The code of a new mold may have blocks for other events than that of the last one.
        def heed(events)
          employ
          @helper.hear(events)
          attend
        end

        def retire_slots
          @boots.close
          @replacements.abandon
          all.each do |slot|
            @boots.cancel(slot)
            slot.done
          end
        end

      end
    end
  end
end
