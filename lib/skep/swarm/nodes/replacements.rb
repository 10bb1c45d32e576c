# frozen_string_literal: true

# Replaces the node of a slot by a successor, which is ready before the old node stops.
#
#   replacements = Replacements.new(grace, boots:, events:)
#   replacements.start(slot, "restart") { |ok| … }   # the block is called once, at the end
#   replacements.ready(node)      # a successor is ready: stops the old node
#   replacements.promoted(slot)   # the old node has ended: the successor holds the slot
#   replacements.when_over(slot) { … }   # called after the slot's replacement
#   replacements.failed(slot)     # the successor couldn't boot: the old node stays
#
# A slot has one replacement at a time. If the old node ends before its successor is forked, the
# replacement has failed, and the slot restarts instead. A removed slot isn't replaced.
module Skep
  class Swarm
    module Nodes
      class Replacements
        Replacement = Struct.new(:reason, :on_retire, :done, :waiting)

        def initialize(grace, boots:, events:)
          @grace = grace
          @boots = boots
          @events = events
          @slots = {}.compare_by_identity # with a replacement
        end

        def any? = @slots.any?

        # mold: forks the successor. on_retire: called with the old node instead of stopping it.
        def start(slot, reason, **how, &done)
          return done&.call(false) if @abandoned || slot.replacement || !slot.live? || slot.retired?
          # The node has died, but its exit isn't recorded yet.
          if slot.restarting?
            return slot.when_exit_recorded { start(slot, reason, **how, &done) }
          end

          replace(slot, reason, **how, &done)
        end

        # Calls the block once the slot's replacement has succeeded or failed.
        def when_over(slot, &block)
          slot.replacement.waiting << block
        end

        # A node of a slot with a replacement is ready. If it is the successor, stops the old node;
        # if the old node has exited already, the replacement is complete.
        def ready(node)
          slot = node.slot
          return if node.reason # it is being stopped itself
          return complete(slot) if node == slot.node && !slot.replacing?
          return unless node == slot.successor

          retire(slot.node, slot.replacement.reason, &slot.replacement.on_retire)
        end

        # Stops a node, and kills it after its grace period.
        def retire(node, reason)
          node.reason = reason
          block_given? ? yield(node) : node.retire
          @grace.give(node)
        end

        # The old node has exited. If the successor isn't ready yet, the replacement can still fail.
        def promoted(slot)
          slot.node.place
          complete(slot) if slot.node.ready?
        end

        # The successor works, if need be in another slot.
        def complete(slot) = finish(slot, true, :node_replaced, :info)

        def failed(slot)
          @boots.cancel(slot)
          finish(slot, false, :replacement_failed, :error)
        end

        # Ends all replacements as failed, without an event: the swarm is stopping.
        def abandon
          @abandoned = true
          slots, @slots = @slots.keys, {}.compare_by_identity
          slots.map(&:end_replacement).each { |replacement| settle(replacement, false) }
        end

        private

        def replace(slot, reason, mold: nil, on_retire: nil, &done)
          @slots[slot] = true
          slot.replace(Replacement.new(reason, on_retire, done, []))
          slot.failure = nil
          @events.publish(:node_replacing, slot, reason:)
          @boots.enqueue(slot, mold:)
        end

        def finish(slot, succeeded, event, level)
          replacement = slot.end_replacement or return
          @slots.delete(slot)
          @events.publish(event, slot, level:, reason: replacement.reason)
          settle(replacement, succeeded)
        end

        def settle(replacement, succeeded)
          replacement.done&.call(succeeded)
          replacement.waiting.each(&:call)
        end
      end

      # Kills a stopping node after stop_timeout. Shortly before, it requests the node's backtraces
      # (node_backtraces), so that the log shows why the node didn't end in time.
      #
      #   grace = GracePeriod.new(config, loop:)
      #   grace.give(node)                   # the node was asked to stop
      #   grace.give_all(node_table) { … }   # all nodes were; calls the block after stop_timeout
      class GracePeriod
        BACKTRACE_SECONDS = 1.0
        private_constant :BACKTRACE_SECONDS

        def initialize(config, loop:)
          @config = config
          @loop = loop
        end

        def give(node)
          seconds = @config.stop_timeout - backtrace_seconds
          node.watches << @loop.deadline(seconds) { request_backtraces(node) }
          node.watches << @loop.deadline(@config.stop_timeout) { node.kill("stop_timeout") }
        end

        # Returns the timers, to be cancelled once all nodes have ended.
        def give_all(node_table, &)
          [@loop.deadline(@config.stop_timeout - backtrace_seconds) do
             node_table.nodes.each { |node| request_backtraces(node) unless node.helper? }
           end,
           @loop.deadline(@config.stop_timeout, &)]
        end

        private

        def request_backtraces(node) = node.channel.post("backtraces")
        def backtrace_seconds = [BACKTRACE_SECONDS, @config.stop_timeout / 2].min
      end
    end
  end
end
