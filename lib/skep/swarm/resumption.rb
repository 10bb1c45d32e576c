# frozen_string_literal: true

# Takes a swarm over from the program that this process was before: the same molds, nodes and seats,
# with all that was known of them.
#
#   Resumption.new(supervisor, manager, foundry, handover).begin
#
# Nobody is told anything, nothing is read yet and no process is signalled: what has happened
# meanwhile is heard when the loop turns. So a trial may do it too, beside the program that goes on.
module Skep
  class Swarm
    class Resumption
      # The mold of nodes that have outlived it.
      GoneMold = Struct.new(:number, :pid) do
        def live? = false #: () -> bool
        def ready? = false #: () -> bool
        def retired? = true #: () -> bool
      end
      private_constant :GoneMold

      def initialize(supervisor, manager, foundry, handover)
        @loop = supervisor.loop
        @manager = manager
        @foundry = foundry
        @handover = handover
        @molds = Hash.new { |all, number| all[number] = GoneMold.new(number) if number }
      end

      def begin #: () -> void
        @foundry.recall(@handover["foundry"], @handover)
        @foundry.molds.each { |mold| @molds[mold.number] = mold }
        plain = @handover["manager"]
        @manager.recall(plain)
        kept = seats(plain)
        kept.each { |seat, facts| fill(seat, facts) }
        @manager.mold = @molds[plain["mold"]]
        kept.each { |seat, facts| go_on(seat, facts) }
        @manager.attend
      end

      private

      # Each seat with what was kept of it. The helper may be a new one.
      def seats(plain)
        kept = [plain["helper"], *plain["seats"], *plain["reserves"]].compact
        seats = @manager.all.reject { |seat| seat.helper? && plain["helper"].nil? }
        seats.zip(kept).to_h.compare_by_identity
      end

      def fill(seat, facts)
        node = facts["node"] && node(seat, facts["node"])
        seat.recall(facts, node, @molds[facts["last_mold"]])
      end

      def node(seat, facts)
        node = Node.new(facts["slot"], seat, @molds[facts["mold"]], facts["asked_at"])
        pidfd = OS::Pidfd.adopt(@handover.take(facts["pidfd"]), facts["pid"])
        socket = @handover.take(facts["socket"], UNIXSocket)
        channel = Channel.new(socket, descriptors: false).recall(facts["channel"])
        node.listens_to(@manager.registrar.link(node, channel))
        @manager.roster.put(node.recall(facts, pidfd))
      end

      # Once all are known.
      def go_on(seat, facts)
        return @manager.registrar.resume(seat.node, facts["node"]["footprint"]) if seat.node

        @manager.spares.await(seat, facts["waits_until"]) if facts["waits_until"]
      end
    end
    private_constant :Resumption
  end
end
