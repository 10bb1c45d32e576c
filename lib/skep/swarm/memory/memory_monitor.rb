# frozen_string_literal: true

# Keeps nodes young and lean: those that have too much memory, or have lived long enough, make way
# for new ones.
#
#   monitor = MemoryMonitor.new(node_pool, config, cgroup_memory, loop:, events:, weights: …)
#   monitor.watch(node)            # from its readiness to its end
#   monitor.memory(node)           # => what is known of it, for `skep status`; counts nothing
#
# A node counts its own pages and leaves the sum on the page (IPC::Scoreboard::MemorySample), for
# the next look: nobody is woken by it.
# MemoryLimitPolicy, MemoryBudgetPolicy and MaxLifetimePolicy judge; SamplingSchedule says when to
# look; Recycler acts.
module Skep
  class Swarm
    module Memory
      class MemoryMonitor
        FIRST = 0.25      # seconds from readiness to the first look
        AGAIN = 1.0       # between looks at one that has been judged
        ANSWER = 0.25     # from a question that matters to the look for its answer
        REST = 2          # liveness_timeouts between two measurements of one that keeps still
        STILL = 30.0      # between looks where nothing is limited
        LOOK = 0.03       # for each node: looks take 30 µs, and a thousandth of a processor
        LATE = 10.0       # until one that is too old is asked for again
        private_constant :FIRST, :AGAIN, :ANSWER, :REST, :STILL, :LOOK, :LATE

        attr_reader :recycler #: Recycler

        # weights: tells when a node has counted its pages, and what it counted, if it has.
        def initialize(node_pool, config, cgroup_memory, loop:, events:, weights:, restart_policy:)
          @node_pool = node_pool
          @loop = loop
          @events = events
          @weights = weights
          @rest = config.liveness_timeout * REST
          @cgroup_memory = cgroup_memory
          @recycler = Recycler.new(node_pool, config, loop:, restart_policy:)
          @sampling_schedule = SamplingSchedule.new(loop) { |node, now| look(node, now) }
          @lifetime = config.max_lifetime && MaxLifetimePolicy.new(config.max_lifetime)
          appoint_judges(config)
          events.subscribe(:node_ready) { |event| watch(event.subject) }
        end

        def watch(node) #: (Nodes::NodeProcess) -> void
          return if node.helper?

          expect_end(node, @lifetime.part) if @lifetime
          begin_weighing(node)
        end

        # One that the program before has watched; node_memory: what that knew of it, if it did.
        def resume(node, node_memory) #: (Nodes::NodeProcess, Hash[String, untyped]?) -> void
          return watch(node) unless node_memory

          expect_end(node, @lifetime.part) if @lifetime
          node.node_memory = NodeMemory.restore(node_memory)
          node.watches << @sampling_schedule.watch(node, FIRST)
        end

        def memory(node) #: (Nodes::NodeProcess?) -> Hash[Symbol, untyped]?
          return unless node&.node_memory

          hear(node)
          node.node_memory.to_plain(OS.now)
        end

        private

        def begin_weighing(node)
          return unless OS::Memory::Statm.known?

          resident = OS::Memory::Statm.of(node.pid) # nil, too, where no descriptor is left
          return node.watches << @loop.after(AGAIN) { begin_weighing(node) } unless resident

          node.node_memory = NodeMemory.new(resident, sharers: @node_pool.slots.size, rest: @rest,
                                                      now: OS.now)
          node.watches << @sampling_schedule.watch(node, FIRST)
        end

        def appoint_judges(config)
          limit = @cgroup_memory.within(:memory_limit, config.memory_limit)
          @limited = limit || config.memory_budget
          longest = @limited ? MemoryLimitPolicy::LONGEST : STILL
          longest = [longest, LOOK * @node_pool.slots.size].max
          @limit = MemoryLimitPolicy.new(limit:, longest:)
          return unless config.memory_budget

          @budget = MemoryBudget.new(@node_pool, @cgroup_memory, config.memory_budget,
                                     pause: longest / 10, events: @events)
        end

        def expect_end(node, part)
          verdict = @lifetime.verdict(ready_at: node.ready_at, part:, now: OS.now)
          @recycler.ask(node, "max_lifetime", patient: false) if verdict == :replace
          seconds = verdict == :replace ? LATE : verdict # if it can't be renewed now, then later
          node.watches << @loop.after(seconds) { expect_end(node, part) }
        end

        # Returns the seconds until the next look.
        def look(node, now)
          return STILL if @node_pool.stopping?

          resident = OS::Memory::Statm.of(node.pid) or return AGAIN # it is about to be removed
          hear(node)
          node.node_memory.seen(resident, now)
          verdict = judge(node, node.node_memory, now)
          @cgroup_memory.look(now)
          @budget&.look(now) { |victim, deed| renew(victim, "memory_budget", deed) }
          verdict.is_a?(Float) ? pause(verdict, node.node_memory, now) : AGAIN
        end

        # What it has counted, since it was last looked at.
        def hear(node)
          at, plain = @weights.call(node)
          node.node_memory.measured(plain, at) if at
        end

        # Where nothing is limited a node is looked at when it is three times as old: for the
        # record.
        def pause(seconds, node_memory, now)
          if @limited
            [seconds, @budget&.reach(node_memory.rate), answer(node_memory, now)].compact.min
          else
            [[2 * (now - node_memory.born_at), AGAIN].max, @limit.longest].min
          end
        end

        # Of one that keeps still nothing is awaited that would change anything.
        def answer(node_memory, now)
          waited = node_memory.waited(now)
          waited.nil? || node_memory.still? ? Float::INFINITY : [waited, ANSWER].max
        end

        def judge(node, node_memory, now)
          verdict = @limit.verdict(node_memory.facts, now)
          ask(node, now) if verdict == :measure || node_memory.stale?(now)
          act(node, verdict)
          verdict == :measure ? @limit.verdict(node_memory.facts, now) : verdict
        end

        def ask(node, now)
          node.node_memory.ask(now)
          node.channel.post("measure")
        end

        def act(node, verdict)
          return unless %i[replace stop].include?(verdict)
          return unless renew(node, "memory_limit", verdict)

          @events.publish(:node_over_limit, node, level: :warn, uss: node.node_memory.least,
                                             limit: @limit.limit, at_once: verdict == :stop)
        end

        # Has anything come of it?
        def renew(node, reason, deed)
          return @recycler.ask(node, reason) if deed == :replace
          return false if node.node_memory.condemned?

          node.node_memory.condemn
          @recycler.at_once(node, reason)
          true
        end
      end

      # Looks at nodes' memory when it is time to, many at a time.
      #
      #   schedule = SamplingSchedule.new(loop) { |node, now| seconds }   # until the next look
      #   watch = sampling_schedule.watch(node, 0.25)   # for the first time in so many seconds
      #   watch.cancel                       # no more: it has ended
      #
      # One timer for all of them. A look is made from half of its time on, where the loop is awake:
      # for another node, for a sign of life that is due (Health::LivenessMonitor), for whatever. So
      # a still swarm sleeps. No turn makes more than a slice of many looks, so that nothing is held
      # up.
      class SamplingSchedule
        Watch = Struct.new(:sampling_schedule, :node) do
          def cancel = sampling_schedule.forget(node) #: () -> void
        end

        SLICE = 50 # looks a turn, each some 20 microseconds
        EARLY = 0.5 # of its time
        private_constant :Watch, :SLICE, :EARLY

        #: (OS::EventLoop) { (Nodes::NodeProcess, Float) -> Float } -> void
        def initialize(loop, &look)
          @loop = loop
          @look = look
          @due = {}.compare_by_identity
        end

        def watch(node, seconds, now = OS.now) #: (Nodes::NodeProcess, Float, ?Float) -> Watch
          plan(node, now, seconds)
          wake unless in_time?(*@due[node])
          Watch.new(self, node)
        end

        def forget(node) = @due.delete(node) #: (Nodes::NodeProcess) -> void
        def inspect = "#<#{self.class} nodes=#{@due.size}>" #: () -> String

        private

        # From when on it may be looked at, and when it must.
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
          open = due(OS.now)
          open.first(SLICE).each { |node| look(node) if @due.key?(node) }
        ensure
          open && open.size > SLICE ? @timer = @loop.after(0) { turn } : wake
        end

        # Those first that can wait least. Not by `select`: of a Hash that compares by identity it
        # leaks 176 bytes in Ruby 3.1.
        def due(now)
          open = @due.filter_map { |node, (from, at)| [at, node] if from <= now }
          open.sort_by(&:first).map(&:last)
        end

        def look(node)
          @due.delete(node)
          now = OS.now
          plan(node, now, @look.call(node, now))
        end
      end
    end
  end
end
