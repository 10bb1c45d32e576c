# frozen_string_literal: true

require "skep/swarm"

# All names from skep/swarm that the simulation uses. A rename there needs a change here only.
module Simulation
  module Adapter
    Swarm = Skep::Swarm
    Layout = Swarm::IPC::Scoreboard::Layout
    private_constant :Swarm, :Layout

    class << self
      # Methods for the simulated processes.

      def channel(socket) = Swarm::IPC::Channel.new(socket)

      def beat(world, node, time)
        world.page.set(cell(world, node), Skep::OS::SharedPage::BEAT, (time * 1e9).to_i)
      end

      def unhealthy(world, node, unhealthy)
        time = unhealthy ? (world.kernel.now * 1e9).to_i : 0
        world.page.set(cell(world, node), Layout::UNHEALTHY_SINCE, time)
      end

      def item(world, node, text)
        world.page.write(cell(world, node), text)
        world.page.set(cell(world, node), Layout::IN_FLIGHT_SINCE, (world.kernel.now * 1e9).to_i)
      end

      def measure(world, node)
        rss = node.process.pages * 4096
        own = rss - (9_000 * 4096)
        plain = { "rss" => rss, "pss" => rss, "uss" => own, "shared" => 9_000 * 4096, "swap" => 0,
                  "anonymous" => own }
        Swarm::IPC::Scoreboard::MemorySample.leave(world.page, world.layout.memory(node.page_index),
                                                   world.kernel.now, plain)
      end

      # The supervisor.

      def supervisor(...) = Swarm::Supervisor.new(...)

      # Lets World#call_back run what the supervisor's guard calls.
      def call_back_by(world)
        world.supervisor.events.define_singleton_method(:guard) do |action, **how, &block|
          super(action, **how) { world.call_back(action, &block) }
        end
      end

      # Returns how many errors the guard has kept from the supervisor.
      def errors(supervisor)
        hidden(supervisor.events, :@error_guard).count
      end

      # Returns true while it reports an error.
      def reports?(supervisor) = hidden(supervisor.events, :@error_guard, :@publishing)

      # Returns the kind of callback of a guard's action.
      def kind(action)
        case action
        when "timer", "descriptor" then action
        when /\Asignal / then "signal"
        when /\Aobserver / then "observer"
        else "message"
        end
      end

      def observer = Swarm::Supervisor::Observer
      def signal_handler = Swarm::Supervisor::SignalHandler
      def page(supervisor) = hidden(supervisor, :@page)
      def layout(supervisor) = hidden(supervisor, :@layout)
      def stopping?(supervisor) = supervisor.stopping?
      def started?(supervisor) = !supervisor.node_pool.nil?
      def timers(supervisor) = supervisor.loop.inspect[/timers=(\d+)/, 1].to_i

      # The supervisor's records.

      def slots(supervisor) = supervisor.node_pool.slots
      def all_slots(supervisor) = supervisor.node_pool.all
      def spare_slots(supervisor) = supervisor.node_pool.spare_slots
      def nodes(supervisor) = supervisor.node_pool.node_table.nodes
      def molds(supervisor) = supervisor.instance_variable_get(:@mold_pool).molds
      def current_mold(supervisor) = supervisor.node_pool.mold
      def generation(supervisor) = supervisor.node_pool.generation

      # Returns true if the process of this pid was asked to end.
      def ends?(supervisor, pid)
        nodes(supervisor).any? { |node| node.pid == pid && node.state == :stopping }
      end

      # Returns how many nodes boot.
      def booting(supervisor)
        nodes(supervisor).count { |node| node.state == :booting && !node.helper? }
      end

      # Returns :booting, :ready, :quiet, :spare, :stopping, :waiting or :dead.
      def status(slot) = slot.status

      # Returns the pids of a slot's processes, its node's first.
      def pids(slot) = slot.nodes.map(&:pid)

      # Returns the pids of all processes of the slot with this number.
      def pids_of(supervisor, id) = nodes(supervisor).select { |node| node.id == id }.map(&:pid)

      # Returns true during a restart, a reload, a replacement or a boot.
      def changing?(supervisor)
        pool = supervisor.node_pool
        hidden(supervisor.changes, :@under_way) || hidden(pool.budget, :@replacing).any? ||
          hidden(pool, :@waiting).any?
      end

      # Returns what was to be done for slots at that time, and isn't, by slot. A process that was
      # killed needn't be stopped.
      def undone(supervisor, time)
        pool = supervisor.node_pool
        actions = pool.all.to_h do |slot|
          [slot.id, Swarm::Nodes::SlotPolicy.next(slot, time, pool.budget)]
        end
        actions.reject do |_, (action, process)|
          action == :wait || (action == :stop && (process.killed? || process.exited?))
        end
      end

      def command(supervisor, name, *arguments)
        case name
        when :restart, :reload then supervisor.changes.public_send(name, *arguments) { |_why| nil }
        when :scale then supervisor.changes.scale(*arguments)
        when :status then JSON.generate(supervisor.snapshot)
        when :stop then supervisor.stop
        when :quiet then supervisor.quiet
        when :resume then supervisor.end_quiet
        end
      end

      private

      def cell(world, node) = world.layout.of(node.page_index)

      def hidden(object, *names)
        names.reduce(object) { |held, name| held.instance_variable_get(name) }
      end
    end
  end
end
