# frozen_string_literal: true

# Replaces running nodes that use too much memory or are too old. Each is stopped only once its
# successor is ready; how many at a time is up to Nodes::Budget.
#
#   recycler = Recycler.new(node_pool, config, loop:, restart_policy:)
#   recycler.recycle(node, "memory_limit")    # false: already being replaced, or throttled
#   recycler.stop_now(node, "memory_limit")   # without waiting for the successor
#
# A slot whose nodes are recycled again and again waits longer each time, with the same backoff as
# after crashes: the successor is likely to have the same problem. MemoryMonitor decides which node
# uses too much memory.
module Skep
  class Swarm
    module Memory
      class Recycler
        def initialize(node_pool, config, loop:, restart_policy:)
          @node_pool = node_pool
          @config = config
          @loop = loop
          @policy = restart_policy
          @started = Hash.new { |all, id| all[id] = [] } # times, by slot id
          @not_before = {} # time of the next replacement, by slot id
        end

        # throttle: refuse while the slot's backoff lasts. Returns false if it is refused.
        def recycle(node, reason, throttle: true)
          return false if !replaceable?(node) || recycling?(node)
          return false if throttle && OS.now < @not_before.fetch(node.id, 0.0)

          back_off(node.id) if throttle
          @node_pool.replace(node, reason)
          true
        end

        # Returns true if the node is being replaced, or is to be.
        def recycling?(node)
          slot = node.slot
          node.live? && (node.retired? || !slot.reason_to_replace.nil? || !slot.replacing.nil?)
        end

        # Stops the node now, and kills it after kill_timeout: its memory must be freed soon.
        def stop_now(node, reason)
          return if @node_pool.stopping? # the node is stopping with the swarm

          node.replace_for ||= reason if replaceable?(node)
          @node_pool.terminate(node, reason) unless node.state == :stopping
          node.watches << @loop.after(@config.kill_timeout) { node.kill(reason) }
        end

        private

        # Returns true if the node works in its slot and has no successor yet.
        def replaceable?(node)
          node.ready? && node.slot.node == node && !node.slot.successor && !@node_pool.stopping?
        end

        def back_off(id)
          now = OS.now
          times = @started[id]
          times.shift while times.any? && times.first <= now - @config.restart_window
          @not_before[id] = now + @policy.delay(times << now, now)
        end
      end
    end
  end
end
