# frozen_string_literal: true

# Processes taking over slots from others, each ready before its predecessor goes.
#
#   replacements = Replacements.new(grace, boots:, events:)
#   replacements.begin(slot, "restart") { |ok| … }   # called once, at its end
#   replacements.ready(node)      # a successor can work: the old one is stopped
#   replacements.promoted(slot)   # the old one has gone: its successor holds the slot
#   replacements.when_over(slot) { … }
#   replacements.failed(slot)     # the successor can't be had: the old one works on
#
# A slot has one at a time. Where the old one goes by itself before its successor is forked there is
# nothing left to replace, and it has failed. A removed slot is never replaced.
module Skep
  class Swarm
    module Nodes
      class Replacements
        Replacement = Struct.new(:reason, :on_retire, :done, :waiting)

        def initialize(grace, boots:, events:)
          @grace = grace
          @boots = boots
          @events = events
          @slots = {}.compare_by_identity # those with a replacement
        end

        def any? = @slots.any? #: () -> bool

        # mold: whom to fork the successor from; on_retire: what the old node gets in place of a
        # stop.
        #: (Slot, String, ?mold: Molds::Mold?, ?on_retire: ^(NodeProcess) -> void)
        #:   ?{ (bool succeeded) -> void }
        #:   -> void
        def begin(slot, reason, **how, &done)
          return done&.call(false) if @over || slot.replacement || !slot.live? || slot.retired?
          # Its node has died, which isn't recorded yet.
          if slot.restarting?
            return slot.when_exit_recorded { self.begin(slot, reason, **how, &done) }
          end

          replace(slot, reason, **how, &done)
        end

        # Runs the block once the replacement that the slot has is over, well or not.
        def when_over(slot, &block) #: (Slot) { () -> void } -> void
          slot.replacement.waiting << block
        end

        # A node of a slot with a replacement is ready. If it is the successor, the old node is
        # stopped; if that has exited before, the replacement is complete.
        def ready(node) #: (NodeProcess) -> void
          slot = node.slot
          return if node.reason # it is being ended itself
          return complete(slot) if node == slot.node && !slot.replacing?
          return unless node == slot.successor

          retire(slot.node, slot.replacement.reason, &slot.replacement.on_retire)
        end

        # Lets a node finish, and kills it if that takes too long.
        #: (NodeProcess, String) ?{ (NodeProcess) -> void } -> void
        def retire(node, reason)
          node.reason = reason
          block_given? ? yield(node) : node.retire
          @grace.give(node)
        end

        # The old node has exited. A successor that isn't ready yet has still to prove itself.
        def promoted(slot) #: (Slot) -> void
          slot.node.place
          complete(slot) if slot.node.ready?
        end

        def failed(slot) #: (Slot) -> void
          @boots.cancel(slot)
          over(slot, false, :replacement_failed, :error)
        end

        # The swarm is stopping.
        def abandon #: () -> void
          @over = true
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

        def complete(slot) = over(slot, true, :node_replaced, :info)

        def over(slot, succeeded, event, level)
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

      # The time a node has to end once it was asked to: stop_timeout, then it is killed. Shortly
      # before that it is asked where its threads are (node_backtraces), so that the log tells why.
      #
      #   grace = GracePeriod.new(config, loop:)
      #   grace.give(node)                   # it has been asked to end
      #   grace.give_all(node_table) { … }   # all have; at the end the block does what is due
      class GracePeriod
        BACKTRACE_SECONDS = 1.0
        private_constant :BACKTRACE_SECONDS

        def initialize(config, loop:) #: (Definition::Config, loop: OS::EventLoop) -> void
          @config = config
          @loop = loop
        end

        def give(node) #: (NodeProcess) -> void
          node.watches << @loop.after(@config.stop_timeout - backtrace_seconds) { ask(node) }
          node.watches << @loop.after(@config.stop_timeout) { node.kill("stop_timeout") }
        end

        # What is to be cancelled once all have ended.
        #: (NodeTable) { () -> void } -> Array[OS::EventLoop::Timer]
        def give_all(node_table, &)
          [@loop.after(@config.stop_timeout - backtrace_seconds) do
             node_table.nodes.each { |node| ask(node) unless node.helper? }
           end,
           @loop.after(@config.stop_timeout, &)]
        end

        private

        def ask(node) = node.channel.post("backtraces")
        def backtrace_seconds = [BACKTRACE_SECONDS, @config.stop_timeout / 2].min
      end
    end
  end
end
