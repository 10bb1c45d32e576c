# frozen_string_literal: true

# Why the supervisor can't go on as another program at this moment: what is under way couldn't be
# told to it.
#
#   Obstacles.new(supervisor, mold_pool).first    # => nil, or a sentence: "node 3 is booting"
#
# Each is over soon, or has a deadline of its own.
module Skep
  class Swarm
    class Upgrade
      class Obstacles
        def initialize(supervisor, mold_pool) #: (Supervisor, Molds::MoldPool) -> void
          @node_pool = supervisor.node_pool
          @molds = mold_pool.molds
        end

        def first #: () -> String?
          mold || booting || slot || node
        end

        private

        def mold
          return "there is no mold to fork from" unless @node_pool.mold&.ready?

          coming = @molds.find { |mold| !settled?(mold) } and "mold #{coming.number} comes or goes"
        end

        def settled?(mold)
          mold.booted? && !mold.candidate? && !mold.killed? && mold.channel.open? &&
            !mold.channel.fds_in_flight?
        end

        def booting
          return unless @node_pool.boots.any? || @node_pool.replacements.any?

          "a node is about to be forked or replaced"
        end

        # Whose next process isn't written down yet.
        def slot
          slot = @node_pool.all.find { |one| one.successor || one.node&.stepping_in? }
          slot && "node #{slot.label} is being replaced"
        end

        def node
          node = @node_pool.node_table.nodes.find { |one| !at_work?(one) }
          node && "node #{node.label} is #{node.ready? ? "on its way out" : node.state}"
        end

        def at_work?(node)
          node.ready? && node.pidfd && node.channel.open? && !node.channel.fds_in_flight? &&
            !node.terminated? && node.reason.nil? &&
            !@node_pool.hang_diagnosis.open?(node)
        end
      end
    end
  end
end
