# frozen_string_literal: true

# How a swarm stands, as a line for an operator: `systemctl status` shows it.
#
#   Standing.of(supervisor)                        # => "3 of 4 nodes ready, 1 in a crash loop"
#   Standing.of(supervisor, under_way: "restart")  # => "restart under way, 4 nodes ready"
#   Standing.of(supervisor, failure: "…")          # => "4 nodes ready; …"
#   Standing.booted?(supervisor)                   # => true once nobody's first try is awaited
#   Standing.ready?(supervisor)                    # is a node ready?
module Skep
  module Watch
    class Standing
      MOST = 400 # letters of a line
      private_constant :MOST

      class << self
        def of(supervisor, **also) = new(supervisor).line(**also) #: (untyped, **String?) -> String

        def ready?(supervisor) #: (Swarm::Supervisor) -> bool
          supervisor.node_pool&.slots&.any? { |slot| slot.nodes.any?(&:ready?) } || false
        end

        # A node is ready, and each of the others has been ready or has failed once.
        def booted?(supervisor) #: (Swarm::Supervisor) -> bool
          node_pool = supervisor.node_pool
          return false unless node_pool&.ever_ready?

          node_pool.slots.all? { |slot| slot.node&.ready? || slot.last_exit || slot.refusal }
        end
      end

      def initialize(supervisor) #: (Swarm::Supervisor) -> void
        @supervisor = supervisor
        @node_pool = supervisor.node_pool
        @slots = @node_pool&.slots || []
      end

      def line(under_way: nil, failure: nil) #: (?under_way: String?, ?failure: String?) -> String
        text = [under_way && "#{under_way} under way, ", state, failure && "; #{failure}"].join
        Redaction.of(text).tr("\n", " ")[0, MOST]
      end

      private

      def state
        return @supervisor.failures.first if @supervisor.failures.any?
        return "gave up on a crash loop" if @supervisor.outcome == :gave_up
        return "ended" if @supervisor.state == :stopped
        return "loading #{@supervisor.file}" if @supervisor.state == :booting
        return "stopping, #{nodes(left)} left" if @supervisor.stopping?

        [*("quiet" if @supervisor.state == :quiet), ready, *troubles, *spares].join(", ")
      end

      def left = @node_pool ? @node_pool.node_table.nodes.count { |node| !node.helper? } : 0

      def ready
        count = @slots.count { |slot| ready?(slot) }
        count == @slots.size ? "#{nodes(count)} ready" : "#{count} of #{nodes(@slots.size)} ready"
      end

      def ready?(slot) = slot.nodes.any?(&:ready?)

      def troubles
        looping, others = @slots.reject { |slot| ready?(slot) }.partition(&:looping?)
        waiting = others.count(&:waiting?)
        ["#{looping.size} in a crash loop", "#{waiting} to be started again"]
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
