# frozen_string_literal: true

# Which ends of nodes are crashes, and who hears of what they had in hand (Suspects).
#
#   suspicions = Suspicions.new(manager, signs:, tell:)
#   suspicions.charge(node)         # it is gone, how isn't known: who is forked now has to know
#   suspicions.explain(node, exit)  # this is how; all nodes are told
#   suspicions.judged(frame)        # a node has done what was suspect, or found it guilty
#   suspicions.forget               # none of it counts any more
#   suspicions.to_plain             # what one that is forked now must know
#
# | a node with something in hand ended because | a crash? |
# |---|---|
# | of a signal that we never send, an abort, an exit, an exception that ended its work | yes |
# | it was killed and we don't know by whom: the kernel, an operator | yes |
# | we ended it: it hung, had too much memory, or had cut itself off | yes |
# | we ended it for another reason: a restart, a scale, a stop, its own complaint | no |
#
# At a stop nothing is counted.
module Skep
  class Swarm
    class Suspicions
      # Ends of ours that what was in hand may have brought about.
      CRASHES = ["hung", "memory_limit", "deaf", OomKills::REASON, nil].freeze
      OURS = %w[TERM KILL ABRT].freeze
      private_constant :CRASHES, :OURS

      def initialize(manager, signs:, tell:) #: (Manager, **untyped) -> void
        @manager = manager
        @signs = signs
        @tell = tell
        @suspects = Suspects.new
        @charged = {}.compare_by_identity
      end

      def keep = @suspects.keep #: () -> Array[Hash[String, untyped]]
      def recall(plain) = @suspects.recall(plain) #: (Array[Hash[String, untyped]]) -> void
      def to_a = @suspects.to_a #: () -> Array[Suspects::Suspect]
      def to_plain = @suspects.to_plain #: () -> Array[Hash[String, untyped]]

      def charge(node) #: (Node) -> void
        accuse(node) if CRASHES.include?(node.reason)
      end

      def explain(node, exit) #: (Node, Exit) -> void
        accuse(node) if CRASHES.include?(node.reason) || !ours?(exit)
        charged = @charged.delete(node) or return

        told = @suspects.explain(charged, [exit.to_s, *node.reason].join(", "))
        @tell.call(:work_suspected, node, level: :warn, in_hand: told.map(&:to_s),
                                          crashes: told.map(&:crashes).max, alone: told.one?)
        pass_on("added" => told.map(&:to_plain))
      end

      # A spare that has stepped in has heard of all that came before.
      def inform(node) = node.channel.send("informed", { "node" => node.id }) #: (Node) -> void

      # Deaths whose cause is known are no crash loop.
      def judged(frame) #: (Channel::Frame) -> void
        keys = frame["suspects"]
        return forgive(@suspects.settle(keys, OS.now)) if frame["guilty"]

        pass_on("dropped" => keys) if @suspects.absolve(keys).any?
      end

      # There is new code: what the old one died of says nothing of it.
      def forget #: () -> void
        keys = @suspects.to_a.map(&:key)
        pass_on("dropped" => keys) if @suspects.absolve(keys).any?
      end

      private

      def accuse(node)
        return if @manager.stopping? || @charged.key?(node)

        held = @signs.held(node)
        @charged[node] = @suspects.charge(held, node.id, OS.now) if held.any?
      end

      # Could this be how one ends that we have told to?
      def ours?(exit) = exit.signal.nil? || OURS.include?(exit.signal)

      def forgive(ids)
        @manager.seats.each { |seat| seat.deaths.forgive(ids.count(seat.id)) }
      end

      def pass_on(facts)
        @manager.roster.nodes.each do |node|
          node.channel.send("suspects", facts) if node.live? && !node.helper?
        end
      end
    end
  end
end
