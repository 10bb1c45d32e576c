# frozen_string_literal: true

# Processes taking over slots from others, each ready before its predecessor goes.
#
#   replacements = Replacements.new(grace, boots:, events:)
#   replacements.begin(slot, "restart") { |ok| … }   # called once, at its end
#   replacements.ready(node)      # a successor can work: the old one is stopped
#   replacements.promoted(slot)   # the old one has gone: its successor holds the slot
#   replacements.failed(slot)     # the successor can't be had: the old one works on
#
# A slot has one at a time. Where the old one goes by itself before its successor is forked there is
# nothing left to replace, and it has failed. A removed slot is never replaced.
module Skep
  class Swarm
    module Nodes
      class Replacements
        Replacement = Struct.new(:reason, :on_retire, :done)

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

        # A node is ready; should it be a successor its predecessor is to finish.
        def ready(node) #: (NodeProcess) -> void
          slot = node.slot
          return unless node == slot.successor && slot.replacement

          retire(slot.node, slot.replacement.reason, &slot.replacement.on_retire)
        end

        # Lets a node finish, and kills it if that takes too long.
        #: (NodeProcess, String) ?{ (NodeProcess) -> void } -> void
        def retire(node, reason)
          node.reason = reason
          block_given? ? yield(node) : node.retire
          @grace.give(node)
        end

        def promoted(slot) #: (Slot) -> void
          slot.node.place
          over(slot, true, :node_replaced, :info)
        end

        def failed(slot) #: (Slot) -> void
          @boots.cancel(slot)
          over(slot, false, :replacement_failed, :error)
        end

        # The swarm is stopping.
        def abandon #: () -> void
          @over = true
          slots, @slots = @slots.keys, {}.compare_by_identity
          slots.each { |slot| slot.end_replacement.done&.call(false) }
        end

        private

        def replace(slot, reason, mold: nil, on_retire: nil, &done)
          @slots[slot] = true
          slot.replace(Replacement.new(reason, on_retire, done))
          slot.failure = nil
          @events.publish(:node_replacing, slot, reason:)
          @boots.enqueue(slot, mold:)
        end

        def over(slot, succeeded, event, level)
          replacement = slot.end_replacement or return
          @slots.delete(slot)
          @events.publish(event, slot, level:, reason: replacement.reason)
          replacement.done&.call(succeeded)
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
