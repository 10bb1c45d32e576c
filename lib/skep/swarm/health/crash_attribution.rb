# frozen_string_literal: true

# Which ends of nodes are crashes, and who hears of what they had in hand (IPC::CrashSuspects).
#
#   crash_attribution = CrashAttribution.new(node_pool, scoreboard:, events:)
#   crash_attribution.record_crash(node)     # it is gone, how isn't known yet
#   crash_attribution.set_exit(node, exit)   # this is how; all nodes are told
#   crash_attribution.judged(frame)          # a node has done what was suspect, or found it guilty
#   crash_attribution.forget                 # none of it counts any more
#   crash_attribution.to_plain               # what one that is forked now must know
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
    module Health
      class CrashAttribution
        # Ends of ours that what was in hand may have brought about.
        CRASHES = ["hung", "memory_limit", "channel_closed", IPC::ExitStatus::OOM, nil].freeze
        OURS = %w[TERM KILL ABRT].freeze
        private_constant :CRASHES, :OURS

        def initialize(node_pool, scoreboard:, events:) #: (Nodes::NodePool, **untyped) -> void
          @node_pool = node_pool
          @scoreboard = scoreboard
          @events = events
          @charged = {}.compare_by_identity
          events.subscribe(:node_lost) { |event| record_crash(event.subject) }
          events.subscribe(:node_died, :node_exited) do |event|
            set_exit(event.subject, event.subject.exit_status)
          end
        end

        # Most swarms never have a suspect.
        def to_a = @suspects ? @suspects.to_a : [] #: () -> Array[IPC::CrashSuspects::Suspect]
        def to_plain = to_a.map(&:to_plain) #: () -> Array[Hash[String, untyped]]
        alias dump to_plain

        def restore(plain) #: (Array[Hash[String, untyped]]) -> void
          suspects.restore(plain) if plain.any?
        end

        def record_crash(node) #: (Nodes::NodeProcess) -> void
          accuse(node) if CRASHES.include?(node.reason)
        end

        def set_exit(node, exit) #: (Nodes::NodeProcess, IPC::ExitStatus) -> void
          accuse(node) if CRASHES.include?(node.reason) || !ours?(exit)
          charged = @charged.delete(node) or return

          told = suspects.set_exit(charged, [exit.to_s, *node.reason].join(", "))
          @events.publish(:work_suspected, node, level: :warn, in_hand: told.map(&:to_s),
                                            crashes: told.map(&:crashes).max, alone: told.one?)
          pass_on("added" => told.map(&:to_plain))
        end

        # Tells one node of all suspects, also of those whose crash isn't fully recorded yet.
        def inform(node) #: (Nodes::NodeProcess) -> void
          known = to_plain
          node.channel.post("suspects", { "added" => known }, at_once: false) if known.any?
        end

        # Deaths whose cause is known are no crash loop.
        def judged(frame) #: (IPC::Channel::Message) -> void
          keys = frame["suspects"]
          return forgive(suspects.forgive(keys, OS.now)) if frame["guilty"]

          drop(keys)
        end

        # There is new code: what the old one died of says nothing of it.
        def forget #: () -> void
          drop(@suspects.to_a.map(&:key)) if @suspects
        end

        private

        def suspects = @suspects ||= IPC::CrashSuspects.new

        def drop(keys)
          pass_on("dropped" => keys) if suspects.clear(keys).any?
        end

        def accuse(node)
          return if @node_pool.stopping? || @charged.key?(node)

          held = @scoreboard.held(node)
          @charged[node] = suspects.record_crash(held, node.id, OS.now) if held.any?
        end

        # Could this be how one ends that we have told to?
        def ours?(exit) = exit.signal.nil? || OURS.include?(exit.signal)

        def forgive(ids)
          @node_pool.slots.each { |slot| slot.deaths.forgive(ids.count(slot.id)) }
        end

        def pass_on(facts)
          @node_pool.node_table.nodes.each do |node|
            node.channel.post("suspects", facts) if node.live? && !node.helper?
          end
        end
      end
    end
  end
end
