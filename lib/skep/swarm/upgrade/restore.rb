# frozen_string_literal: true

# Takes a swarm over from the program that this process was before: the same molds, nodes and slots,
# with all that was known of them.
#
#   Restore.new(supervisor, node_pool, mold_pool, state_file).begin
#
# Nobody is told anything, nothing is read yet and no process is signalled: what has happened
# meanwhile is heard when the loop turns. So a trial may do it too, beside the program that goes on.
module Skep
  class Swarm
    class Upgrade
      class Restore
        # The mold of nodes that have outlived it.
        ExitedMold = Struct.new(:number, :pid) do
          def live? = false #: () -> bool
          def ready? = false #: () -> bool
          def retired? = true #: () -> bool
        end
        private_constant :ExitedMold

        def initialize(supervisor, node_pool, mold_pool, state_file)
          @loop = supervisor.loop
          @node_pool = node_pool
          @mold_pool = mold_pool
          @state_file = state_file
          @molds = Hash.new { |all, number| all[number] = ExitedMold.new(number) if number }
        end

        def begin #: () -> void
          @mold_pool.restore(@state_file["mold_pool"], @state_file)
          @mold_pool.molds.each { |mold| @molds[mold.number] = mold }
          plain = @state_file["node_pool"]
          @node_pool.restore(plain)
          kept = slots(plain)
          kept.each { |slot, facts| fill(slot, facts) }
          @node_pool.mold = @molds[plain["mold"]]
          kept.each { |slot, facts| go_on(slot, facts) }
          @node_pool.boot_helper
        end

        private

        # Each slot with what was kept of it. The helper may be a new one.
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

        # Once all are known.
        def go_on(slot, facts)
          if slot.node
            return @node_pool.resume(slot.node, facts["node"]["node_memory"])
          end

          @node_pool.boots.at(facts["waits_until"], slot) if facts["waits_until"]
        end
      end
    end
  end
end
