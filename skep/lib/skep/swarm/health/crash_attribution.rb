# frozen_string_literal: true

# Records which items were in flight when nodes crashed (IPC::CrashSuspects), and sends them to all
# nodes.
#
#   crash_attribution = CrashAttribution.new(node_pool, scoreboard:, events:)
#   crash_attribution.node_exited(node, exit)   # publishes work_isolated if it was a crash
#   crash_attribution.resolve(frame)         # a node reports items as done, or as the cause
#   crash_attribution.forget                 # clears all suspects; forget_old: those of long ago
#   crash_attribution.to_plain               # the suspects for a node that is about to be forked
#
# | exit of a node with items in flight | a crash? |
# |---|---|
# | a signal that the supervisor never sends, an abort, an exit, an uncaught exception | yes |
# | KILL or TERM from outside: the kernel, an operator | yes |
# | the supervisor ended it: it used too much memory, or closed its channel | yes |
# | the supervisor ended it: it hung | if more shows that its item is the cause, see below |
# | the supervisor ended it for another reason: a restart, a scale, a stop, its own report | no |
#
# An exit while the swarm stops doesn't count as a crash.
#
# A hang may be that of a dependency which doesn't answer. Then other items hang, too, and none of
# them is suspected. Another work may not need that dependency: what it does shows nothing. The
# first row that is so counts:
#
# | what else there was while the node hung | a crash? |
# |---|---|
# | another thread, or another node of its work, made progress | yes |
# | its work had nothing else in flight, and no other node hung | if it had done something before |
# | several hung, and the slot's last process had hung, too, soon before | likewise |
# | several hung | no |
#
# In the third row the dependency has answered the process for a while. If it hadn't, nothing would
# have been done between the two hangs.
module Skep
  class Swarm
    module Health
      class CrashAttribution
        # Reasons for ending a node that the items in flight may have caused.
        HUNG = "hung"
        CRASH_REASONS = ["memory_limit", "channel_closed", IPC::ExitStatus::OOM, nil].freeze
        SUPERVISOR_SIGNALS = %w[TERM KILL].freeze
        # A dependency's last answers may come in a moment after the first item that hangs: progress
        # counts after this part of the time that the node has hung.
        SETTLED = 0.25
        private_constant :HUNG, :CRASH_REASONS, :SUPERVISOR_SIGNALS, :SETTLED

        def initialize(node_pool, scoreboard:, events:)
          @node_pool = node_pool
          @scoreboard = scoreboard
          @events = events
          @hung_at = {} # by slot: when its last process was ended that hung
        end

        # Returns the suspects. Most swarms never have any, so CrashSuspects is created on demand.
        def to_a = @suspects ? @suspects.to_a : []
        def to_plain = to_a.map(&:to_plain)

        def node_exited(node, exit)
          return if @node_pool.stopping? || !crash?(node, exit)

          items = @scoreboard.items_in_flight(node)
          record(node, items, [exit.to_s, *node.reason].join(", ")) if items.any?
        end

        # Sends all suspects to one node.
        def inform(node)
          known = to_plain
          node.channel.post("suspects", { "added" => known }, at_once: false) if known.any?
        end

        # Clears items that a node reports as done. If it reports them as the cause of the crashes,
        # those crashes no longer count towards the crash-loop limit.
        def resolve(frame)
          keys = frame["suspects"]
          return clear_deaths(suspects.clear_crashes(keys, OS.now)) if frame["blamed"]

          clear(keys)
        end

        # Clears all suspects: new code is running, and the crashes of the old code don't apply.
        def forget
          clear(@suspects.to_a.map(&:key)) if @suspects
        end

        # Called now and then: what hasn't crashed a node for long, and isn't in flight, is no
        # suspect any more, although no node has said that it is done.
        def forget_old(now = OS.now)
          return if to_a.empty?

          nodes = @node_pool.node_table.nodes
          in_flight = nodes.flat_map { |node| @scoreboard.items_in_flight(node).map(&:first) }
          keys = suspects.forget_old(now, in_flight)
          broadcast("dropped" => keys) if keys.any?
        end

        private

        def suspects = @suspects ||= IPC::CrashSuspects.new

        def clear(keys)
          broadcast("dropped" => keys) if suspects.clear(keys).any?
        end

        def crash?(node, exit)
          return evidence?(node) if node.reason == HUNG

          CRASH_REASONS.include?(node.reason) || certain_crash?(exit)
        end

        def record(node, items, how)
          added = suspects.record_crash(items, node.id, OS.now, how, handled: node.clears_suspects)
          @events.publish(:work_isolated, node,
                          level: :warn, in_flight: added.map(&:to_s),
                          crashes: added.map(&:crashes).max, alone: added.one?)
          broadcast("added" => added.map(&:to_plain))
        end

        # Returns true if the items in flight may be what the node hung at: see above.
        def evidence?(node)
          now = OS.now
          began = @scoreboard.in_flight_since(node) or return true
          last, @hung_at[node.id] = @hung_at[node.id], now
          others = @node_pool.node_table.nodes.reject { |one| one.equal?(node) || one.helper? }
          same_work = [node, *others.select { |one| one.task == node.task }]
          return true if progress?(same_work, began + ((now - began) * SETTLED))

          again = last && now - last < (now - began) * 2
          (again || !several?(node, same_work, began)) && @scoreboard.done_at(node).positive?
        end

        def progress?(nodes, since)
          nodes.any? { |node| @scoreboard.progress_since?(node, since) }
        end

        # Returns true if other items may hang, too.
        def several?(node, same_work, began)
          busy = same_work.sum { |one| @scoreboard.threads_in_flight(one) }
          busy > 1 || @hung_at.any? { |id, time| id != node.id && time > began }
        end

        # Returns true if the node died by a signal that the supervisor never sends.
        def certain_crash?(exit) = exit.signal && !SUPERVISOR_SIGNALS.include?(exit.signal)

        def clear_deaths(ids)
          @node_pool.slots.each { |slot| slot.deaths.clear_last(ids.count(slot.id)) }
        end

        # Many nodes may crash at the same time, and there may be many to inform: encoded once.
        def broadcast(facts)
          bytes = IPC::Channel.encode("suspects", facts)
          @node_pool.node_table.nodes.each do |node|
            node.channel.post_encoded(bytes) if node.live? && !node.helper?
          end
        end
      end
    end
  end
end
