# frozen_string_literal: true

# Why the supervisor can't go on as another program at this moment: what is under way couldn't be
# told to it.
#
#   Obstacles.new(supervisor, foundry).first    # => nil, or a sentence such as "node 3 is booting"
#
# Each is over soon, or has a deadline of its own.
module Skep
  class Swarm
    class Obstacles
      def initialize(supervisor, foundry) #: (Supervisor, Foundry) -> void
        @manager = supervisor.manager
        @molds = foundry.molds
      end

      def first #: () -> String?
        mold || booting || seat || node
      end

      private

      def mold
        return "there is no mold to fork from" unless @manager.mold&.ready?

        coming = @molds.find { |mold| !settled?(mold) } and "mold #{coming.number} comes or goes"
      end

      def settled?(mold)
        mold.ready? && !mold.trial && !mold.killed? && mold.channel.open? && !mold.channel.laden?
      end

      def booting
        registrar = @manager.registrar
        return unless registrar.boots.any? || registrar.replacements.any?

        "a node is about to be forked or replaced"
      end

      # Whose next process isn't written down yet.
      def seat
        seat = @manager.all.find { |one| one.successor || one.claim.heir }
        seat && "node #{seat.label} is being replaced"
      end

      def node
        node = @manager.roster.nodes.find { |one| !at_work?(one) }
        node && "node #{node.label} is #{node.ready? ? "on its way out" : node.state}"
      end

      def at_work?(node)
        node.ready? && node.pidfd && node.channel.open? && !node.channel.laden? && node.news.nil? &&
          !node.condemned? && node.reason.nil? && !@manager.registrar.inquest.open?(node)
      end
    end
  end
end
