# frozen_string_literal: true

# The processes that are the supervisor's own, its molds and its nodes alike; all others are
# Strangers.
#
#   household = Household.new(supervisor, foundry)
#   household.pids
#   household.abandon(2.0)      # ends them all at once, and waits so many seconds at most
#   household.disown            # in a fork: their channels and pidfds are the supervisor's
module Skep
  class Swarm
    class Household
      def initialize(supervisor, foundry) #: (Supervisor, Foundry) -> void
        @supervisor = supervisor
        @foundry = foundry
      end

      # nil: of one that is about to be forked.
      def pids = all.map(&:pid) #: () -> Array[Integer?]

      def abandon(seconds) #: (Float) -> void
        processes = all
        processes.each { |process| process.kill("abandoned") }
        deadline = OS.now + seconds
        processes.each { |process| process.pidfd&.wait(timeout: [deadline - OS.now, 0].max) }
        processes.each { |process| process.channel.close }
      end

      def disown #: () -> void
        all.each { |process| [process.channel, process.pidfd].compact.each(&:close) }
      end

      private

      def all = [*@supervisor.manager&.roster&.nodes, *@foundry.molds]
    end
    private_constant :Household
  end
end
