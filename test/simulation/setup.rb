# frozen_string_literal: true

require "simulation/adapter"
require "simulation/socket"

# Stand in for what the supervisor has of its process: signals and commands come from the schedule,
# and orphans from the simulated machine.
module Simulation
  # Create the Signals and the Reaper of a world's supervisor.
  SignalsOf = Struct.new(:world) do
    def new(supervisor)
      Signals.new(supervisor, world:).tap { |signals| world.signals = signals }
    end
  end
  ReaperOf = Struct.new(:world) do
    def new(program:, ours:) = Reaper.new(world.kernel, ours)
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

  class Signals < Adapter.signal_handler
    def initialize(supervisor, world:)
      super(supervisor)
      @world = world
    end

    def watch
      @signals, @commands = Array.new(2) { Mailbox.new(@world.kernel) }
      @supervisor.loop.watch(@signals) { handle_all(@signals.take) }
      @supervisor.loop.watch(@commands) {
        @commands.take.each { |command|
          Adapter.command(@supervisor, *command)
        }
      }
    end

    def signal(name) = @signals&.put([name, @world.kernel.now])
    def command(*command) = @commands&.put(command)

    def release(program:)
      [@signals, @commands].each(&:close)
      @signals = @commands = nil
      program
    end

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

    def inherit = nil
    def leader(_pid) = nil
    def reap = foreign.each { |process| process.reap(:supervisor) if process.zombie? }

    def reap_all
      deadline = @kernel.now + SECONDS
      while @kernel.now < deadline && (left = foreign).any?
        left.each { |process| process.signal("KILL") }
        @kernel.block_until(deadline) { left.none?(&:running?) }
        reap
      end
      [] # none that it may not end
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
