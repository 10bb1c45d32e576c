# frozen_string_literal: true

# Notices nodes' ends from the kernel. While their mold lives it tells how they ended, at once or it
# is as good as dead; when it has died they have fallen to the supervisor, their subreaper, which
# learns of their ends by itself.
#
#   adoption = Adoption.new(loop, gone: ->(node) { … }) { |node, exit| … }
#                             # gone: it has ended, how is yet to be told; the block: how it ended
#   adoption.follow(node)     # it has been forked
#   adoption.take(node)       # its mold has died
#
# Where there are no pidfds (the twins) the end of a node's channel is the end of the node,
# its status unknown.
module Skep
  class Swarm
    class Adoption
      # A mold has 2 seconds to report an exit that the kernel has told of, counted in steps of
      # 0.5 s. A step whose timer fires late doesn't count: the supervisor was paused or starved,
      # and the mold perhaps with it.
      STEP = 0.5
      STEPS = 4
      LATE = 0.05
      private_constant :STEP, :STEPS, :LATE

      #: (OS::Loop, gone: ^(Node) -> void) { (Node, Exit) -> void } -> void
      def initialize(loop, gone:, &ended)
        @loop = loop
        @gone = gone
        @ended = ended
      end

      def follow(node) #: (Node) -> void
        watch = @loop.watch(node.pidfd.to_io) do
          watch.cancel
          @gone.call(node)
          expect_report(node)
        end
        node.end_watch = watch
      end

      # A node that the mold hadn't reported yet is taken for lost:
      # its channel's end will tell it so.
      def take(node) #: (Node) -> void
        return @ended.call(node, Exit.new) unless node.pidfd
        return silent(node) unless node.pidfd.watchable? || node.channel.open?

        return unless node.pidfd.watchable?

        node.end_watch&.cancel # and nothing else: it may be hung, or late to stop, as any other
        node.end_watch = @loop.watch(node.pidfd.to_io) { reap(node) }
      end

      # A node's channel has ended.
      # Where there is a pidfd it alone tells of the end; else this does.
      def silent(node) #: (Node) -> void
        return if !node.live? || node.pidfd&.watchable?

        node.mold.live? ? expect_report(node) : @ended.call(node, Exit.new)
      end

      private

      def expect_report(node, steps = STEPS)
        due = OS.now + STEP
        node.watches << @loop.at(due) do
          steps -= 1 if OS.now - due < LATE
          next expect_report(node, steps) if steps.positive?

          node.mold.kill if node.mold.live?
        end
      end

      def reap(node)
        Remains.of(node.pidfd)
        status = node.pidfd.wait(timeout: 0)
        @ended.call(node, Exit.of(status)) if status
      end
    end
  end
end
