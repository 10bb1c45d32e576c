# frozen_string_literal: true

require "simulation/adapter"

# Returns what is wrong in a swarm that has had time to settle: each slot must have a ready node,
# one mold is left, and nothing that has ended is still recorded, watched or open.
#
#   Settled.new(world).lacks(supervisor)   # => "slots [[0, :waiting, []]]", or nil
module Simulation
  class Settled
    # Timers of the swarm, and of each of its processes.
    TIMERS = 6
    private_constant :TIMERS

    def initialize(world)
      @world = world
      @kernel = world.kernel
    end

    def lacks(supervisor)
      return "it hasn't booted" unless Adapter.started?(supervisor)

      slots(supervisor) || molds(supervisor) || unknown(supervisor) ||
        descriptors(supervisor) || timers(supervisor)
    end

    private

    def options = @world.options

    def slots(supervisor)
      slots = Adapter.all_slots(supervisor)
      left = Adapter.nodes(supervisor) - slots.flat_map(&:nodes)
      return "nodes of no slot: #{left.inspect}" if left.any?

      unsteady = slots.reject { |slot| steady?(slot, supervisor.quiet? ? :quiet : :ready) }
      return if unsteady.empty?

      "slots #{unsteady.map { |slot| [slot.label, Adapter.status(slot), Adapter.pids(slot)] }}"
    end

    # working: the state of a node with work, which is quiet as long as the swarm is.
    def steady?(slot, working)
      return done?(slot) || waits_for_resume?(slot, working) unless slot.node

      process = @kernel.processes[Adapter.pids(slot).first]
      state = { true => :spare, false => slot.helper? ? :ready : working }.fetch(slot.spare?)
      slot.successor.nil? && Adapter.status(slot) == state &&
        process&.running? && process.actor.healthy?
    end

    def done?(slot)
      return false if slot.helper? || Adapter.status(slot) != :dead

      options["restart"] != "always" || options["never_restart_on"]
    end

    # Its node ended by itself, and well, while it was quiet.
    def waits_for_resume?(slot, working)
      working == :quiet && !slot.helper? && !slot.spare? && slot.clean? &&
        Adapter.status(slot) == :waiting
    end

    # A mold whose nodes could not be replaced stays beside the current one.
    def molds(supervisor)
      return "a change is in progress" if Adapter.changing?(supervisor)

      current = Adapter.current_mold(supervisor)
      used = [current, *Adapter.nodes(supervisor).map(&:mold)]
      molds = Adapter.molds(supervisor)
      "molds #{molds.inspect}" unless molds.include?(current) && (molds - used).empty?
    end

    def unknown(supervisor)
      known = [*Adapter.nodes(supervisor), *Adapter.molds(supervisor)].map(&:pid)
      unknown = @kernel.processes.each_value.select do |process|
        process.running? && !process.dying? && !known.include?(process.pid) && !forgotten?(process)
      end
      "processes #{unknown.inspect}" if unknown.any?
    end

    # If a mold dies before it reports a node, and the node doesn't notice, the supervisor learns of
    # it only at its end.
    def forgotten?(process)
      node = process.actor
      process.orphan? && node.is_a?(Node) && (node.channel_closed? || !node.awake?)
    end

    # A pidfd and a channel for each process, signals and commands.
    def descriptors(supervisor)
      count = processes(supervisor)
      watched, open = @kernel.poller.size, @kernel.open.size
      return if [watched, open] == [2 + (2 * count)] * 2

      "#{watched} descriptors watched, #{open} open, for #{count} processes"
    end

    def timers(supervisor)
      count, timers = processes(supervisor), Adapter.timers(supervisor)
      "#{timers} timers for #{count} processes" if timers > TIMERS * (1 + count)
    end

    def processes(supervisor)
      Adapter.nodes(supervisor).size + Adapter.molds(supervisor).size
    end
  end
end
