# frozen_string_literal: true

# The state of a swarm in one line, which `systemctl status` shows.
#
#   StatusLine.of(supervisor)                        # => "3 of 4 nodes ready, 1 in a crash loop"
#   StatusLine.of(supervisor, in_progress: "reload") # => "reload in progress, 4 nodes ready"
#   StatusLine.of(supervisor, failure: "…")          # => "4 nodes ready; …", until the swarm stops
#   StatusLine.booted?(supervisor)   # => true once a node is ready and each has been or has failed
#   StatusLine.ready?(supervisor)    # => true if a node is ready
module Skep
  module Systemd
    class StatusLine
      LENGTH = 400 # at most
      FAILURE = 140 # of these; the log has the whole error
      private_constant :LENGTH, :FAILURE

      class << self
        def of(supervisor, **also) = new(supervisor).line(**also)

        def ready?(supervisor)
          supervisor.node_pool&.slots&.any? { |slot| slot.nodes.any?(&:ready?) } || false
        end

        def booted?(supervisor)
          node_pool = supervisor.node_pool
          return false unless node_pool&.ever_ready?

          node_pool.slots.all? { |slot| slot.node&.ready? || slot.last_exit || slot.refusal }
        end
      end

      def initialize(supervisor)
        @supervisor = supervisor
        @node_pool = supervisor.node_pool
        @slots = @node_pool&.slots || []
      end

      def line(in_progress: nil, failure: nil)
        change = "#{in_progress} in progress, " if in_progress
        note = "; #{shortened(failure)}" if failure && !@supervisor.stopping?
        clean("#{change}#{state}#{note}")[0, LENGTH]
      end

      private

      # Redacts a text before anything is cut off: half a secret isn't recognized.
      def clean(text) = Redaction.of(text).tr("\n", " ")

      def shortened(text)
        text = clean(text)
        text.size > FAILURE ? "#{text[0, FAILURE].sub(/[\s,;:(]*\S*\z/, "")} …" : text
      end

      def state
        return @supervisor.failures.first if @supervisor.failures.any?
        return "gave up on a crash loop" if @supervisor.outcome == :gave_up
        return "ended" if @supervisor.state == :stopped
        return "loading #{@supervisor.file}" if @supervisor.state == :booting
        return "stopping, #{nodes(left)} left" if @supervisor.stopping?

        [*("quiet" if @supervisor.state == :quiet), ready, *not_ready, *spares].join(", ")
      end

      def left = @node_pool ? @node_pool.node_table.nodes.count { |node| !node.helper? } : 0

      def ready
        count = @slots.count { |slot| ready?(slot) }
        count == @slots.size ? "#{nodes(count)} ready" : "#{count} of #{nodes(@slots.size)} ready"
      end

      def ready?(slot) = slot.nodes.any?(&:ready?)

      def not_ready
        looping, others = @slots.reject { |slot| ready?(slot) }.partition(&:looping?)
        waiting = others.count(&:waiting?)
        ["#{looping.size} in a crash loop", "#{waiting} waiting to restart"]
          .zip([looping.size, waiting]).filter_map { |text, count| text if count.positive? }
      end

      def spares
        count = @node_pool ? @node_pool.spare_slots.count { |slot| ready?(slot) } : 0
        "#{count} #{count == 1 ? "spare" : "spares"}" if count.positive?
      end

      def nodes(count) = "#{count} #{count == 1 ? "node" : "nodes"}"
    end
  end
end
