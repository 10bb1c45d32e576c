# frozen_string_literal: true

# Compares the memory of nodes with `memory_limit` and `memory_budget`, and replaces nodes that
# exceed them, or `max_lifetime`.
#
#   monitor = MemoryMonitor.new(node_pool, config, cgroup_memory, loop:, events:, samples: …)
#   monitor.memory(node)           # => its memory for `skep status`; measures nothing
#   monitor.measure(nodes)         # these nodes are to measure themselves now
#
# Nodes measure themselves, and write the result to the shared page (MemoryMeter). One timer looks
# at all nodes, every 15 seconds; more often while one of them is young, or would reach its limit
# before. A look also reads the kernel's counters of each node, which cost little (NodeMemory).
module Skep
  class Swarm
    module Memory
      class MemoryMonitor
        LONGEST = 15.0
        SHORTEST = 0.25
        COST = 0.003 # seconds between two looks for each node: a look takes 30 µs
        private_constant :LONGEST, :SHORTEST, :COST

        attr_reader :recycler

        # samples: called with a node, returns the time and the result of its last measurement; nil
        # if there is none.
        def initialize(node_pool, config, cgroup_memory, loop:, events:, samples:, restart_policy:)
          @node_pool = node_pool
          @loop = loop
          @events = events
          @samples = samples
          @cgroup_memory = cgroup_memory
          @recycler = Recycler.new(node_pool, config, loop:, restart_policy:)
          build_limits(config)
          events.subscribe(:node_ready) { |event| watch(event.subject) }
        end

        # Returns nil before the node is ready.
        def memory(node)
          return unless node&.node_memory

          read_sample(node)
          node.node_memory.to_plain(OS.now)
        end

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

        def build_limits(config)
          limit = @cgroup_memory.within(:memory_limit, config.memory_limit)
          budget = @cgroup_memory.within(:memory_budget, config.memory_budget)
          @limit = MemoryLimitPolicy.new(limit) if limit
          @budget = MemoryBudget.new(budget, recycler:, events: @events) if budget
          @max_lifetime = max_lifetime(config.max_lifetime) if config.max_lifetime
        end

        def max_lifetime(seconds)
          MaxLifetime.new(seconds, loop: @loop) do |node|
            @recycler.recycle(node, "max_lifetime", throttle: false)
          end
        end

        def watch(node)
          return if node.helper?

          @max_lifetime&.watch(node)
          node.node_memory = NodeMemory.new(OS.now)
          look(node, OS.now)
          check_in(SHORTEST)
        end

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
          check_limits(nodes) unless @node_pool.stopping?
          check_in(pause(nodes))
        end

        def look(node, now)
          read_sample(node)
          node.node_memory.seen(OS::Memory::Statm.of(node.pid), now)
        end

        def read_sample(node)
          at, sample = @samples.call(node)
          node.node_memory.measured(at, sample) if at
        end

        def check_limits(nodes)
          nodes.each { |node| check_limit(node, node.node_memory) } if @limit
          @budget&.check(nodes) { |node, action| replace(node, "memory_budget", action) }
        end

        def check_limit(node, memory)
          action = @limit.decide(memory.uss_min)
          return unless action && replace(node, "memory_limit", action)

          @events.publish(:node_over_limit, node, level: :warn, uss: memory.uss_min,
                                                  limit: @limit.bytes, at_once: action == :stop)
        end

        # Returns true if the node is going to be replaced or stopped, and wasn't before.
        def replace(node, reason, action)
          return @recycler.recycle(node, reason) if action == :replace
          return false if node.node_memory.stop_requested

          node.node_memory.stop_requested = true
          @recycler.stop_now(node, reason)
          true
        end

        # Returns the seconds until the next look: it comes before a node is twice as old, and twice
        # before a node that grows reaches its limit.
        def pause(nodes)
          now = OS.now
          memories = nodes.map(&:node_memory)
          limits = @limit ? memories.map { |memory| memory.seconds_to(@limit.bytes) } : []
          limits << @budget.seconds_left(nodes) if @budget
          ages = memories.map { |memory| now - memory.ready_at }
          shortest = [SHORTEST, COST * nodes.size].max
          [[*limits.map { |seconds| seconds / 2 }, *ages, LONGEST].min, shortest].max
        end
      end

      # Decides whether a node's private memory (USS) exceeds `memory_limit`. Pure.
      #
      #   policy = MemoryLimitPolicy.new(512 << 20)
      #   policy.decide(100 << 20)   # => nil: within the limit
      #   # => :replace: over the limit; :stop: so far over it that no successor can boot in time
      class MemoryLimitPolicy
        HARD = 1.5 # times the limit
        private_constant :HARD

        attr_reader :bytes

        def initialize(bytes)
          @bytes = bytes
        end

        def decide(uss)
          return if uss <= bytes

          uss > bytes * HARD ? :stop : :replace
        end
      end
    end
  end
end
