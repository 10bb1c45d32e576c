# frozen_string_literal: true

# Compares the memory of nodes with the `memory_limit` of their work and with `memory_budget`, and
# their age with `max_lifetime`. A node that exceeds one of them is given a reason to be replaced.
#
#   monitor = MemoryMonitor.new(node_pool, config, cgroup_memory, loop:, events:, samples: …)
#   monitor.memory(node)           # => its memory for `skep status`; measures nothing
#   monitor.measure(nodes)         # these nodes are to measure themselves now
#
# Nodes measure themselves, and write the result to the shared page (MemoryMeter). One timer looks
# at all nodes, every 15 seconds; more often while one of them is young, or would reach its limit
# before. A look also reads the kernel's counters of each node, which cost little (NodeMemory).
#
# A slot whose nodes exceed their memory again and again waits longer each time, with the same
# backoff as after crashes: the successor is likely to have the same problem.
module Skep
  class Swarm
    module Memory
      class MemoryMonitor
        LONGEST = 15.0
        SHORTEST = 0.25
        COST = 0.003 # seconds between two looks for each node: a look takes 30 µs
        HARD = 1.5 # times the limit: no successor can boot in time
        JITTER = 0.1 # of max_lifetime: nodes that were forked together aren't replaced together
        private_constant :LONGEST, :SHORTEST, :COST, :HARD, :JITTER

        # samples: called with a node, returns the time and the result of its last measurement; nil
        # if there is none. restart_policies: by a node's options.
        def initialize(node_pool, config, cgroup_memory, loop:, events:, samples:,
                       restart_policies:, random: Random)
          @node_pool = node_pool
          @loop = loop
          @events = events
          @samples = samples
          @cgroup_memory = cgroup_memory
          @restart_policies = restart_policies
          @random = random
          @replaced_at = Hash.new { |all, id| all[id] = [] } # times within restart_window
          @not_before = {} # time of the next replacement, by slot id
          limits = [config, *config.works].filter_map(&:memory_limit).uniq
          @limits = limits.to_h { |limit| [limit, cgroup_memory.within(:memory_limit, limit)] }
          budget = cgroup_memory.within(:memory_budget, config.memory_budget)
          @budget = MemoryBudget.new(budget, events:) if budget
        end

        # It is ready.
        def watch(node)
          return if node.helper?

          node.node_memory = NodeMemory.new(OS.now, lifetime: lifetime(node))
          look(node, OS.now)
          check_in(SHORTEST)
        end

        # Returns nil before the node is ready.
        def memory(node)
          return unless node&.node_memory

          read_sample(node)
          node.node_memory.to_plain(OS.now)
        end

        # Returns what the swarm takes and may take, if that is more than its memory_budget.
        def over_budget = @budget&.excess

        def measure(nodes)
          nodes.each { |node| node.channel.post("measure") if node.node_memory }
        end

        # Returns true once the node has answered a request of that time, or ended.
        def answered?(node, since:)
          return true unless node.live? && node.node_memory

          look(node, OS.now)
          node.node_memory.answered?(since:)
        end

        private

        def lifetime(node)
          node.options.max_lifetime&.*(1 + (JITTER * ((2 * @random.rand) - 1)))
        end

        # Returns the bytes of a node's memory_limit, or nil.
        def limit(node) = @limits[node.options.memory_limit]

        # What wakes the loop up in the second half of the time serves as well.
        def check_in(seconds)
          return if @timer&.pending? && @timer.deadline <= OS.now + seconds

          @timer&.cancel
          @timer = @loop.at(OS.now + seconds, early: seconds / 2) { check }
        end

        # The next check comes even if there is an error in this one.
        def check
          check_in(LONGEST)
          nodes = @node_pool.node_table.nodes.select { |node| node.live? && node.node_memory }
          nodes.each { |node| look(node, OS.now) }
          @cgroup_memory.expire_kills(OS.now)
          check_limits(nodes, OS.now) unless @node_pool.stopping?
          check_in(pause(nodes, OS.now))
        end

        def look(node, now)
          read_sample(node)
          node.node_memory.seen(OS::Memory::Statm.of(node.pid), now)
        end

        def read_sample(node)
          at, sample = @samples.call(node)
          node.node_memory.measured(at, sample) if at
        end

        def check_limits(nodes, now)
          nodes.each do |node|
            check_limit(node, node.node_memory.uss_min, limit(node)) if limit(node)
            replace(node, "max_lifetime") if node.node_memory.expires_at <= now
          end
          @budget&.check(nodes) { |node, action| relieve(node, "memory_budget", action) }
        end

        def check_limit(node, uss, limit)
          return if uss <= limit

          action = uss > limit * HARD ? :stop : :replace
          return unless relieve(node, "memory_limit", action)

          @events.publish(:node_over_limit, node, level: :warn, uss:, limit:,
                                                  at_once: action == :stop)
        end

        # Returns true if the node is going to be replaced or stopped, and wasn't before.
        def relieve(node, reason, action)
          return stop_now(node, reason) if action == :stop
          return false if OS.now < @not_before.fetch(node.id, 0.0) || !replace(node, reason)

          back_off(node, OS.now)
          true
        end

        # It stops once its successor is ready; how many at a time is up to Nodes::Budget.
        def replace(node, reason)
          slot = node.slot
          return false if !replaceable?(node) || slot.reason_to_replace || slot.replacing

          @node_pool.replace(node, reason)
          true
        end

        # Stops the node without waiting for a successor, and kills it after kill_timeout: its
        # memory must be freed soon. A hung one is killed as soon anyway.
        def stop_now(node, reason)
          return false if node.node_memory.stop_requested || node.failing?

          node.node_memory.stop_requested = true
          follow(node, reason) if newest?(node) && node.replace_for.nil?
          @node_pool.terminate(node, reason) unless node.state == :stopping
          node.watches << @loop.after(node.options.kill_timeout) { node.kill(reason) }
          true
        end

        # Its successor boots while it stops; after too many of them the slot waits first. A node
        # that is a successor itself gets none: its slot has a process, or launches the next one.
        def follow(node, reason)
          back_off(node, now = OS.now)
          not_before = @not_before[node.id]
          return node.slot.not_before = not_before if not_before > now

          node.replace_for = reason if replaceable?(node)
        end

        def newest?(node) = node.ready? && (node.slot.successor || node.slot.node).equal?(node)

        # Returns true if the node works in its slot and has no successor yet.
        def replaceable?(node)
          node.ready? && node.slot.node == node && !node.slot.successor
        end

        def back_off(node, now)
          times = @replaced_at[node.id]
          times.shift while times.any? && times.first <= now - node.options.restart_window
          delay = @restart_policies[node.options].delay(times << now, now)
          @not_before[node.id] = now + delay
        end

        # Returns the seconds until the next look: it comes before a node is twice as old, and twice
        # before a node that grows reaches its limit.
        def pause(nodes, now)
          memories = nodes.map(&:node_memory)
          limits = nodes.filter_map do |node|
            limit(node)&.then { |limit| node.node_memory.seconds_to(limit) }
          end
          limits << @budget.seconds_left(nodes) if @budget
          ages = memories.map { |memory| now - memory.ready_at }
          lives = memories.map { |memory| memory.expires_at - now }.select(&:positive?)
          shortest = [SHORTEST, COST * nodes.size].max
          [[*limits.map { |seconds| seconds / 2 }, *ages, *lives, LONGEST].min, shortest].max
        end
      end
    end
  end
end
