# frozen_string_literal: true

module Skep
  module Fork
    # The callbacks of one moment, in the order in which they run. It is built when one is
    # registered, so that a fork needs no time for it.
    #
    #   round = HookChain.new(:child, registrations)
    #   round.call { |error, who| … }
    class HookChain
      def initialize(moment, registrations)
        @moment = moment
        @registrations = registrations.select { |registration| registration.__block(moment) }
        @blocks = @registrations.map { |registration| registration.__block(moment) }
        [@registrations, @blocks, self].each(&:freeze)
      end

      def empty? = @blocks.empty?

      # Calls them all. An error goes to the block, and the others run; only an exit and a signal
      # pass.
      def call(index = 0)
        while (block = @blocks[index])
          index += 1
          block.call
        end
      rescue SystemExit, SignalException
        raise # For the process.
      rescue Exception => error # rubocop:disable Lint/RescueException -- the fork continues
        yield error, @registrations[index - 1].__name(@moment)
        retry
      end
    end
    private_constant :HookChain
  end
end
