# frozen_string_literal: true

# What follows a mold's end: another one, at once or, should one die after the other, after a while.
#
#   recasting = Recasting.new(supervisor, foundry, file)
#   recasting.after(exit)          # a mold has ended so: the foundry is to start the next
#   recasting.keep                 # => the deaths, for the next program
#   recasting.recall(deaths)
#
# How long it waits RestartPolicy judges, by the deaths of all molds. One that ends before the swarm
# has booted isn't followed: its file is told to be at fault.
module Skep
  class Swarm
    class Recasting
      REMEMBERED = 1_000 # deaths
      RETRY_SECONDS = 1.0 # where the system refused a process
      private_constant :REMEMBERED, :RETRY_SECONDS

      def initialize(supervisor, foundry, file) #: (Supervisor, Foundry, String) -> void
        @supervisor = supervisor
        @foundry = foundry
        @file = file
        @deaths = []
      end

      def after(exit) #: (Exit) -> void
        return if @supervisor.stopping?
        unless @supervisor.booted?
          return @supervisor.fail("#{@file}: the mold ended while it loaded it, #{exit}")
        end

        @deaths.shift if @deaths.size > REMEMBERED
        @deaths << OS.now
        later(RestartPolicy.new(@supervisor.config).delay(@deaths, OS.now))
      end

      def keep = @deaths #: () -> Array[Float]

      def recall(deaths) #: (Array[Float]) -> void
        @deaths = deaths
      end

      private

      def later(seconds)
        @supervisor.loop.after(seconds) { start unless @supervisor.stopping? }
      end

      def start
        @foundry.start
      rescue SystemCallError => e # no process or descriptor to be had just now
        @supervisor.emit(:fork_failed, :error,
                         { mold: @foundry.newest, error: e.message, seconds: RETRY_SECONDS })
        later(RETRY_SECONDS)
      end
    end
    private_constant :Recasting
  end
end
