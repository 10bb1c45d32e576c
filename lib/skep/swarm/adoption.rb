# frozen_string_literal: true

# Nodes whose mold has died: they fell to the supervisor, their subreaper, which learns of their ends by itself.
#
#   adoption = Adoption.new(loop) { |node, exit| … }     # called when one of them has ended
#   adoption.take(node)
#
# Where there are no pidfds (the twins) the end of a node's channel is the end of the node, its status unknown.
module Skep
  class Swarm
    class Adoption
      def initialize(loop, &ended) #: (OS::Loop) { (Node, Exit) -> void } -> void
        @loop = loop
        @ended = ended
      end

      # A node that the mold hadn't reported yet is taken for lost: its channel's end will tell it so.
      def take(node) #: (Node) -> void
        return @ended.call(node, Exit.new) unless node.pidfd
        return silent(node) unless node.pidfd.watchable? || node.channel.open?

        node.watches << @loop.watch(node.pidfd.to_io) { reap(node) } if node.pidfd.watchable?
      end

      # A node's channel has ended: while its mold lives that will report the status.
      def silent(node) #: (Node) -> void
        @ended.call(node, Exit.new) if node.live? && !node.mold.live? && !node.pidfd&.watchable?
      end

      private

      def reap(node)
        status = node.pidfd.wait(timeout: 0)
        @ended.call(node, Exit.of(status)) if status
      end
    end
  end
end
