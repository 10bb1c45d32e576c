# frozen_string_literal: true

# Nodes that are to make way for new ones though they work: a few at a time, each once its successor
# is ready.
#
#   recycler = Recycler.new(node_pool, config, loop:, restart_policy:)
#   recycler.ask(node, "memory_limit")       # false: it is under way, or to wait
#   recycler.at_once(node, "memory_limit")   # it can't wait for its successor
#
# A slot whose nodes are asked for again and again waits longer and longer, as after deaths: what is
# wrong with one is wrong with the next.
module Skep
  class Swarm
    module Memory
      class Recycler
        PART = 20 # of the swarm's nodes one in so many is renewed at a time, and one at least
        private_constant :PART

        #: (Nodes::NodePool, Definition::Config, loop: OS::EventLoop,
        #:  restart_policy: Nodes::RestartPolicy) -> void
        def initialize(node_pool, config, loop:, restart_policy:)
          @node_pool = node_pool
          @config = config
          @loop = loop
          @policy = restart_policy
          @queue = []
          @going = 0
          @begun = Hash.new { |all, id| all[id] = [] } # when, by slot id
          @later = {}
        end

        # patient: let a slot wait that was renewed too often of late.
        def ask(node, reason, patient: true) #: (Nodes::NodeProcess, String, ?patient: bool) -> bool
          return false if !open?(node) || under_way?(node)
          return false if patient && OS.now < @later.fetch(node.id, 0.0)

          remember(node.id) if patient
          @queue << [node, reason]
          ask_next
          true
        end

        # Since when a slot is not to be renewed again.
        def dump = { "begun" => @begun.to_a, "later" => @later.to_a } #: () -> Hash[String, untyped]

        def restore(plain) #: (Hash[String, untyped]) -> void
          @begun.update(plain["begun"].to_h)
          @later = plain["later"].to_h
        end

        # Is it to go, or about to be asked to?
        def under_way?(node) #: (Nodes::NodeProcess) -> bool
          node.live? && (node.retired? || @queue.any? { |queued, _| queued == node } ||
            @node_pool.replacing?(node.slot))
        end

        # Stops it now. What doesn't end within kill_timeout is killed: its memory is wanted.
        def at_once(node, reason) #: (Nodes::NodeProcess, String) -> void
          return if @node_pool.stopping? # it has been told to, and has as long as any other

          @node_pool.replace(node.slot, reason) if open?(node)
          @node_pool.terminate(node, reason) unless node.state == :stopping
          node.watches << @loop.after(@config.kill_timeout) { node.kill(reason) }
        end

        private

        # Does it hold its slot, and is nobody to take that over?
        def open?(node)
          node.ready? && node.slot.node == node && !node.slot.successor && !@node_pool.stopping?
        end

        def remember(id)
          now = OS.now
          times = @begun[id]
          times.shift while times.any? && times.first <= now - @config.restarts_within
          @later[id] = now + @policy.delay(times << now, now)
        end

        def limit = [@node_pool.slots.size / PART, 1].max

        def ask_next
          begin_one(*@queue.shift) while @queue.any? && @going < limit
        end

        def begin_one(node, reason)
          return unless open?(node)

          @going += 1
          @node_pool.replace(node.slot, reason) do
            @going -= 1
            ask_next
          end
        end
      end

      # Judges whether a node has lived long enough. Pure: facts and a time in, a verdict out.
      #
      #   judge = MaxLifetimePolicy.new(3600.0)
      #   part = judge.part                               # drawn once for each life, 0.9 to 1.1
      #   judge.verdict(ready_at: 10.0, part: 1.05, now: 1000.0)
      #   # => 2790.0: seconds left, or :replace
      #
      # Lives differ by up to a tenth either way, so that nodes forked together don't end together.
      class MaxLifetimePolicy
        JITTER = 0.1
        private_constant :JITTER

        def initialize(seconds, random: Random) #: (Float, ?random: untyped) -> void
          @seconds = seconds
          @random = random
        end

        def part = 1 + (JITTER * ((2 * @random.rand) - 1)) #: () -> Float

        #: (ready_at: Float, part: Float, now: Float) -> (Float | :replace)
        def verdict(ready_at:, part:, now:)
          left = ready_at + (@seconds * part) - now
          left.positive? ? left : :replace
        end
      end
    end
  end
end
