# frozen_string_literal: true

# Looks at the nodes' beats when, and only when, one of them could be overdue,
# and asks Liveness what it means.
#
#   watchman = Watchman.new(config, loop:, page:, cells:) { |node, age| … }   # for a hung node
#   watchman.watch(node)      # from its readiness to its end
#
# One timer a node, set to the instant its silence would be too long: an idle, beating node costs
# about a wake-up each liveness_timeout.
module Skep
  class Swarm
    class Watchman
      def initialize(config, loop:, page:, cells:, &hung)
        @loop = loop
        @page = page
        @cells = cells
        @hung = hung
        @liveness = Liveness.new(timeout: config.liveness_timeout)
        @timeout = config.liveness_timeout
      end

      def watch(node) #: (Node) -> void
        look_again(node, @timeout)
      end

      # Seconds since the node's last beat; nil before the first.
      def age(node, now = OS.now) #: (Node, ?Float) -> Float?
        beat = @page.beat_at(@cells.of(node.slot))
        beat && [now - beat, 0.0].max
      end

      private

      def look_again(node, seconds)
        timer = @loop.after(seconds) do
          node.watches.delete(timer)
          look(node)
        end
        node.watches << timer
      end

      def look(node)
        return unless node.ready?

        now = OS.now
        age = age(node, now) || 0.0
        verdict = @liveness.verdict(beat_at: now - age, busy_until: busy_until(node), now:)
        verdict == :hung ? @hung.call(node, age.round(3)) : look_again(node, verdict)
      end

      def busy_until(node) = @page.get(@cells.of(node.slot), Cells::BUSY_UNTIL) / 1e9
    end
  end
end
