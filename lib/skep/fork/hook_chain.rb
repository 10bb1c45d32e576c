# frozen_string_literal: true

module Skep
  module Fork
    # The callbacks of one moment, in the order in which they are called: laid out when they are
    # registered, as a fork has no time for that.
    #
    #   round = HookChain.new(:child, registrations)
    #   round.call { |error, who| … }
    class HookChain
      #: (Symbol moment, Array[Registration]) -> void
      def initialize(moment, registrations)
        @moment = moment
        @registrations = registrations.select { |registration| registration.__block(moment) }
        @blocks = @registrations.map { |registration| registration.__block(moment) }
        [@registrations, @blocks, self].each(&:freeze)
      end

      #: () -> bool
      def empty? = @blocks.empty?

      # Calls all of them; what one raises goes to the block, and the rest are called. Only an exit
      # and a signal get through.
      #
      #: (?Integer index) { (Exception error, String who) -> void } -> void
      def call(index = 0)
        while (block = @blocks[index])
          index += 1
          block.call
        end
      rescue SystemExit, SignalException
        raise # Meant for the process.
      rescue Exception => error # rubocop:disable Lint/RescueException -- the fork goes on
        yield error, @registrations[index - 1].__name(@moment)
        retry
      end
    end
    private_constant :HookChain
  end
end
