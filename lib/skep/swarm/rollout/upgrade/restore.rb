# frozen_string_literal: true

# Puts molds, slots and nodes back in place, as they were in the program that this process was
# before.
#
#   Restore.new(node_pool, mold_pool, state_file).run
#
# It publishes no event, reads no channel and signals no process: what has happened meanwhile comes
# when the loop turns. So a trial can do it too, beside the program that continues.
module Skep
  class Swarm
    module Rollout
      class Upgrade
        class Restore
          # The mold of nodes that are still there after its exit.
          ExitedMold = Struct.new(:number, :pid) do
            def live? = false
            def ready? = false
            def retired? = true
          end
          private_constant :ExitedMold

          def initialize(node_pool, mold_pool, state_file)
            @node_pool = node_pool
            @mold_pool = mold_pool
            @state_file = state_file
            @molds = Hash.new { |all, number| all[number] = ExitedMold.new(number) if number }
          end

          def run
            @mold_pool.restore(@state_file["mold_pool"], @state_file)
            @mold_pool.molds.each { |mold| @molds[mold.number] = mold }
            plain = @state_file["node_pool"]
            @node_pool.restore(plain)
            kept = slots(plain)
            kept.each { |slot, facts| fill(slot, facts) }
            @node_pool.mold = @molds[plain["mold"]]
            kept.each { |slot, facts| continue(slot, facts) }
            @node_pool.boot_helper
          end

          private

          # Each slot with what was dumped of it. The helper's slot may be new.
          def slots(plain)
            kept = [plain["helper"], *plain["slots"], *plain["spares"]].compact
            slots = @node_pool.all.reject { |slot| slot.helper? && plain["helper"].nil? }
            slots.zip(kept).to_h.compare_by_identity
          end

          def fill(slot, facts)
            node = facts["node"] && node(slot, facts["node"])
            slot.restore(facts, node, @molds[facts["last_mold"]])
          end

          def node(slot, facts)
            node = Nodes::NodeProcess.new(facts["page_index"], slot, @molds[facts["mold"]],
                                          facts["asked_at"])
            pidfd = OS::Pidfd.adopt(@state_file.take(facts["pidfd"]), facts["pid"])
            socket = @state_file.take(facts["socket"], UNIXSocket)
            channel = IPC::Channel.new(socket, descriptors: false).restore(facts["channel"])
            node.listens_to(@node_pool.connect(node, channel))
            @node_pool.node_table.put(node.restore(facts, pidfd))
          end

          # Called once all slots are filled.
          def continue(slot, facts)
            if slot.node
              return @node_pool.resume(slot.node, facts["node"]["node_memory"])
            end

            @node_pool.boots.at(facts["waits_until"], slot) if facts["waits_until"]
          end
        end
      end
    end
  end
end
