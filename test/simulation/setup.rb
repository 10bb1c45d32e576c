# frozen_string_literal: true

require "simulation/adapter"
require "simulation/socket"

# Stands in for the supervisor's process setup: signals and commands come from the schedule, and
# orphans from the simulated machine.
module Simulation
  # Creates the Setup of a world's supervisor, in place of the class ProcessSetup.
  SetupOf = Struct.new(:world) do
    def new(supervisor, program:, ours:, forked:)
      Setup.new(supervisor, world:, ours:).tap { |setup| world.setup = setup }
    end
  end

  # A queue that the event loop can watch, of signal names or commands.
  class Mailbox < Descriptor
    def initialize(kernel)
      super(kernel, :supervisor)
      @contents = []
    end

    def put(one) = @contents << one
    def take = @contents.shift(@contents.size)
    def readable? = @contents.any?
    def writable? = false
    def inspect = "#<mailbox>"
  end

  class Setup
    attr_reader :orphan_reaper

    def initialize(supervisor, world:, ours:)
      @supervisor = supervisor
      @world = world
      @signal_handler = Adapter.signal_handler(supervisor)
      @orphan_reaper = Reaper.new(world.kernel, ours)
    end

    def take
      @signals, @commands = Array.new(2) { Mailbox.new(@world.kernel) }
      @supervisor.loop.watch(@signals) { @signal_handler.handle_all(@signals.take) }
      @supervisor.loop.watch(@commands) {
        @commands.take.each { |command|
          Adapter.command(@supervisor, *command)
        }
      }
    end

    def signal(name) = @signals&.put([name, @world.kernel.now])
    def command(*command) = @commands&.put(command)
    def signalled? = @signals.readable?

    def release
      @supervisor.loop.close
      [@signals, @commands].each(&:close)
      @signals = @commands = nil
    end

    def take_over(_state_file) = raise(NotImplementedError)
    def close_in_child = raise(NotImplementedError)
  end

  # Reaps the orphans that the simulated kernel passes to the supervisor as their subreaper.
  class Reaper
    SECONDS = 5.0
    private_constant :SECONDS

    def initialize(kernel, ours)
      @kernel = kernel
      @ours = ours
    end

    def leader(_pid) = nil
    def reap = foreign.each { |process| process.reap(:supervisor) if process.zombie? }

    def reap_all
      deadline = @kernel.now + SECONDS
      while @kernel.now < deadline && (left = foreign).any?
        left.each { |process| process.signal("KILL") }
        @kernel.block_until(deadline) { left.none?(&:running?) }
        reap
      end
    end

    private

    def foreign
      ours = @ours.call
      @kernel.processes.each_value.select do |process|
        process.orphan? && !process.reaped? && !ours.include?(process.pid)
      end
    end
  end
end
