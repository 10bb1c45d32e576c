# frozen_string_literal: true

# Samples the memory of nodes, and replaces nodes that exceed `memory_limit`, `memory_budget` or
# `max_lifetime`.
#
#   monitor = MemoryMonitor.new(node_pool, config, cgroup_memory, loop:, events:, samples: …)
#   monitor.watch(node)            # from node_ready to its exit
#   monitor.memory(node)           # => its memory for `skep status`; measures nothing
#
# A node counts its own pages when asked, and writes the result to the shared page
# (IPC::Scoreboard::MemorySample). The monitor reads it at the next look, so the answer doesn't wake
# the supervisor. SamplingSchedule decides when to look. MemoryLimitPolicy, MemoryBudgetPolicy and
# MaxLifetimePolicy decide what to do, and Recycler does it.
module Skep
  class Swarm
    module Memory
      class MemoryMonitor
        FIRST = 0.25      # seconds from readiness to the first look
        AGAIN = 1.0       # until the next look after a decision
        ANSWER = 0.25     # until the look for the result of a measurement that matters
        REST = 2          # liveness_timeouts between two measurements of a node that doesn't grow
        STILL = 30.0      # between looks where nothing is limited
        LOOK = 0.03       # for each node: a look takes 30 µs, so all take 0.1% of a processor
        LATE = 10.0       # until the next attempt to replace a node that is too old
        private_constant :FIRST, :AGAIN, :ANSWER, :REST, :STILL, :LOOK, :LATE

        attr_reader :recycler

        # samples: called with a node, returns the time and the result of its last page count; nil
        # if there is none.
        def initialize(node_pool, config, cgroup_memory, loop:, events:, samples:, restart_policy:)
          @node_pool = node_pool
          @loop = loop
          @events = events
          @samples = samples
          @rest = config.liveness_timeout * REST
          @cgroup_memory = cgroup_memory
          @recycler = Recycler.new(node_pool, config, loop:, restart_policy:)
          @sampling_schedule = SamplingSchedule.new(loop) { |node, now| look(node, now) }
          @lifetime = config.max_lifetime && MaxLifetimePolicy.new(config.max_lifetime)
          build_policies(config)
          events.subscribe(:node_ready) { |event| watch(event.subject) }
        end

        def watch(node)
          return if node.helper?

          check_lifetime(node, @lifetime.part) if @lifetime
          start_sampling(node)
        end

        # Continues to watch a node after an upgrade. node_memory: as dumped; nil if there was none.
        def resume(node, node_memory)
          return watch(node) unless node_memory

          check_lifetime(node, @lifetime.part) if @lifetime
          node.node_memory = NodeMemory.restore(node_memory)
          node.watches << @sampling_schedule.watch(node, FIRST)
        end

        def memory(node)
          return unless node&.node_memory

          read_sample(node)
          node.node_memory.to_plain(OS.now)
        end

        # Asks these nodes to count their pages.
        def measure(nodes)
          nodes.each { |node| request_measurement(node, OS.now) if node.node_memory }
        end

        # Returns true once the node has answered a request of that time. True as well where it
        # never will: it has died, or its memory isn't sampled here.
        def answered?(node, since:)
          return true unless node.node_memory && (resident = OS::Memory::Statm.of(node.pid))

          read_sample(node)
          node.node_memory.seen(resident, OS.now)
          node.node_memory.answered?(since:)
        end

        private

        def start_sampling(node)
          return unless OS::Memory::Statm.known?

          resident = OS::Memory::Statm.of(node.pid) # nil without a free descriptor
          return node.watches << @loop.after(AGAIN) { start_sampling(node) } unless resident

          node.node_memory = NodeMemory.new(resident, sharers: @node_pool.slots.size, rest: @rest,
                                                      now: OS.now)
          node.watches << @sampling_schedule.watch(node, FIRST)
        end

        def build_policies(config)
          limit = @cgroup_memory.within(:memory_limit, config.memory_limit)
          @limited = limit || config.memory_budget
          longest = @limited ? MemoryLimitPolicy::LONGEST : STILL
          longest = [longest, LOOK * @node_pool.slots.size].max
          @limit = MemoryLimitPolicy.new(limit:, longest:)
          return unless config.memory_budget

          @budget = MemoryBudget.new(@node_pool, @cgroup_memory, config.memory_budget,
                                     pause: longest / 10, events: @events)
        end

        def check_lifetime(node, part)
          decision = @lifetime.decide(ready_at: node.ready_at, part:, now: OS.now)
          seconds = decision == :replace ? LATE : decision # the recycler may refuse for now
          node.watches << @loop.after(seconds) { check_lifetime(node, part) }
          @recycler.recycle(node, "max_lifetime", throttle: false) if decision == :replace
        end

        # Returns the seconds until the next look.
        def look(node, now)
          return STILL if @node_pool.stopping?

          resident = OS::Memory::Statm.of(node.pid) or return AGAIN # it has died
          read_sample(node)
          node.node_memory.seen(resident, now)
          decision = check_limit(node, node.node_memory, now)
          @cgroup_memory.check(now)
          @budget&.check(now) { |picked, action| recycle(picked, "memory_budget", action) }
          decision.is_a?(Float) ? pause(decision, node.node_memory, now) : AGAIN
        end

        # Reads the node's last page count.
        def read_sample(node)
          at, plain = @samples.call(node)
          node.node_memory.measured(plain, at) if at
        end

        # Without a limit the samples are only for the status, and the next look at a node is at
        # three times its age.
        def pause(seconds, node_memory, now)
          if @limited
            [seconds, @budget&.seconds_left(node_memory.rate),
             answer(node_memory, now)].compact.min
          else
            [[2 * (now - node_memory.born_at), AGAIN].max, @limit.longest].min
          end
        end

        # The result for a node that doesn't grow can wait until the next regular look.
        def answer(node_memory, now)
          waited = node_memory.waited(now)
          waited.nil? || node_memory.still? ? Float::INFINITY : [waited, ANSWER].max
        end

        def check_limit(node, node_memory, now)
          decision = @limit.decide(node_memory.facts, now)
          request_measurement(node, now) if decision == :measure || node_memory.stale?(now)
          act(node, decision)
          decision == :measure ? @limit.decide(node_memory.facts, now) : decision
        end

        def request_measurement(node, now)
          node.node_memory.requested(now)
          node.channel.post("measure")
        end

        def act(node, decision)
          return unless %i[replace stop].include?(decision)
          return unless recycle(node, "memory_limit", decision)

          @events.publish(:node_over_limit, node, level: :warn, uss: node.node_memory.uss_min,
                                             limit: @limit.limit, at_once: decision == :stop)
        end

        # Returns true if the node is going to be replaced or stopped.
        def recycle(node, reason, action)
          return @recycler.recycle(node, reason) if action == :replace
          return false if node.node_memory.stopping?

          node.node_memory.stopping!
          @recycler.stop_now(node, reason)
          true
        end
      end

      # Calls its block for each node when a look at the node is due.
      #
      #   schedule = SamplingSchedule.new(loop) { |node, now| seconds }   # until the next look
      #   watch = schedule.watch(node, 0.25)   # the first look is due in 0.25 s
      #   watch.cancel                         # the node has ended
      #
      # One timer serves all nodes. If the loop is awake anyway in the second half of a pause, for
      # another node or for a liveness check, the look is made then. So an idle swarm sleeps. A turn
      # of the loop makes SLICE looks at most, so that it delays nothing else.
      class SamplingSchedule
        Watch = Struct.new(:sampling_schedule, :node) do
          def cancel = sampling_schedule.forget(node)
        end

        SLICE = 50 # looks in a turn, 20 µs each
        EARLY = 0.5 # of the pause
        FAILED = 10.0 # seconds until the next look at a node at which a look has failed
        private_constant :Watch, :SLICE, :EARLY, :FAILED

        def initialize(loop, &look)
          @loop = loop
          @look = look
          @due = {}.compare_by_identity
        end

        def watch(node, seconds, now = OS.now)
          plan(node, now, seconds)
          wake unless in_time?(*@due[node])
          Watch.new(self, node)
        end

        def forget(node) = @due.delete(node)
        def inspect = "#<#{self.class} nodes=#{@due.size}>"

        private

        # Stores when the look may be made at the earliest, and at the latest.
        def plan(node, now, seconds)
          @due[node] = [now + (seconds * EARLY), now + seconds]
        end

        def in_time?(from, at) = @timer&.pending? && @timer.deadline <= at && @timer.from <= from

        def wake
          @timer&.cancel
          return if @due.empty?

          from, at = @due.each_value.to_a.transpose.map(&:min)
          @timer = @loop.at(at, early: at - from) { turn }
        end

        def turn
          nodes = due(OS.now)
          nodes.first(SLICE).each { |node| look(node) if @due.key?(node) }
        ensure
          nodes && nodes.size > SLICE ? @timer = @loop.after(0) { turn } : wake
        end

        # Returns the nodes whose look may be made, the most urgent first. Doesn't use Hash#select,
        # which leaks 176 bytes a call in Ruby 3.1 for a Hash that compares by identity.
        def due(now)
          found = @due.filter_map { |node, (from, at)| [at, node] if from <= now }
          found.sort_by(&:first).map(&:last)
        end

        def look(node)
          @due.delete(node)
          now = OS.now
          seconds = FAILED
          seconds = @look.call(node, now)
        ensure
          plan(node, now, seconds)
        end
      end

      # Decides whether a node's private memory (USS) exceeds `memory_limit`, and when to look at it
      # again. Pure: takes facts and a time, returns a decision.
      #
      #   policy = MemoryLimitPolicy.new(limit: 512 << 20)
      #   policy.decide(Facts.new(uss_min: 100 << 20, uss_max: 300 << 20, rate: 0.0, ready_at: 10.0,
      #                           measurable_at: 0.0), 70.0)
      #   # => 6.0: within the limit, look again in 6 s
      #   # => :measure: the bounds don't suffice, the node must count its private pages
      #   # => :replace: over the limit; :stop: so far over it that no successor can boot in time
      #
      # Cheap readings bound the USS from both sides (Statm, NodeMemory), and mostly that is enough.
      # The node counts its pages only if the limit lies between the bounds, as with a partly shared
      # heap.
      class MemoryLimitPolicy
        # uss_min, uss_max: bounds of the USS in bytes. rate: the fastest recent growth, bytes a
        # second. ready_at, measurable_at: monotonic seconds; the node may count its pages from
        # measurable_at on. still: true if it hasn't grown since the last look.
        Facts = Struct.new(:uss_min, :uss_max, :rate, :ready_at, :measurable_at, :still,
                           keyword_init: true)

        HARD = 1.5 # times the limit
        SHORTEST = 0.25
        LONGEST = 15.0
        YOUNG = 10.0 # the pause is this part of the node's age, or of the longest pause
        STILL = 2.0  # for a node that doesn't grow it is this many times its age
        private_constant :SHORTEST, :YOUNG, :STILL

        attr_reader :limit
        attr_reader :longest

        # limit: nil for none. longest: seconds between two looks at a node that doesn't grow.
        def initialize(limit:, longest: LONGEST)
          @limit = limit
          @longest = longest
        end

        def decide(facts, now)
          return pause(facts, now) unless limit
          return :stop if facts.uss_min > limit * HARD
          return :replace if facts.uss_min > limit

          doubtful = facts.uss_max > limit
          return :measure if doubtful && now >= facts.measurable_at

          left = doubtful ? facts.measurable_at - now : longest
          [pause(facts, now), [left, SHORTEST].max].min
        end

        private

        # Looks at a growing node twice before it can reach the limit, and often at a young one.
        def pause(facts, now)
          age = now - facts.ready_at
          young = facts.still ? age * STILL : [age, longest].max / YOUNG
          [[longest, young, half_to_limit(facts)].min, SHORTEST].max
        end

        # Returns half of the seconds in which the node reaches the limit at its present rate.
        def half_to_limit(facts)
          limit && facts.rate.positive? ? (limit - facts.uss_min) / facts.rate / 2 : longest
        end
      end
    end
  end
end
