# frozen_string_literal: true

require "simulation/adapter"

# Restarts follow the policy: none comes too early after a crash, unless a restart or reload ends
# the wait, and deaths are not counted twice.
module Simulation
  class RestartInvariants
    LEAST = 0.08 # seconds: the first backoff, less its jitter
    MOST = 24.0
    LATE = 15.0 # seconds by which the report of a death may be late
    CRASHES = [nil, "hung", "boot_timeout"].freeze
    # What may end the wait of a slot: a command, a new mold that tries a slot, its adoption.
    ENDS_WAITS = %w[restart_started mold_ready reload_finished].freeze
    private_constant :LEAST, :MOST, :LATE, :CRASHES, :ENDS_WAITS

    def initialize(world)
      @world = world
      @kernel = world.kernel
      @deaths = Hash.new { |all, id| all[id] = [] }
      @replacing = {}
      @to_go = {} # by slot: the pid of the node to replace
      @stopped = {} # pids of nodes that were asked to stop for a successor
      @unforked = []
      @failed = {} # pids of nodes whose failure was heard
      @places = {} # by pid: the slot of a node that has died, as it was reported
      @waiting = {} # by slot: whether its wait may have been ended
    end

    # A slot that waits may be started at once.
    def end_waits = @waiting.transform_values! { true }

    # Crashes with a known cause no longer count.
    def clear_deaths = @deaths = Hash.new { |_, _| [] }

    def recorded(name, facts)
      id = facts[:node]
      end_waits if ENDS_WAITS.include?(name) || adoption?(name, facts)
      @waiting[id] = false if name == "node_waiting"
      case name
      when "node_failed" then @failed[facts[:pid]] = true
      when "swarm_quiet", "swarm_resumed" then @quiet = name == "swarm_quiet"
      when "node_died", "node_exited"
        @places[facts[:pid]] = id
        died(id, facts)
      when "swarm_scaled" then @deaths.clear
      when "node_replacing" then replacing(id, facts)
      when "node_ready" then ready(id, facts)
      when "replacement_failed", "node_replaced" then drop_death(id)
      when "mold_died" then 2.times { @unforked << @kernel.now } # a slot's two at most
      when "node_waiting", "crash_loop" then check_count(id, facts[:deaths])
      end
    end

    # A node has been forked.
    def forked(node)
      return if @waiting.delete(node.slot)
      return if node.slot.nil? || @replacing.delete(node.slot) || options["spares"].positive?

      last, = @deaths[node.slot].last
      excess = last && (crashes(node.slot) - options["max_restarts"])
      return unless excess&.positive?

      seconds = @kernel.now - last
      return if seconds >= [LEAST * (2**[excess - 1, 20].min), MOST].min

      @kernel.violate("slot #{node.slot} restarted after #{seconds.round(3)} s, " \
                      "#{excess} deaths over its limit")
    end

    private

    def options = @world.options

    # Once its canary works, new code starts the slots that wait.
    def adoption?(name, facts)
      name == "node_replaced" && %w[reload refork].include?(facts[:reason])
    end

    # Counts the deaths of the last one's kind: at boot, at work, or refusals (BootError).
    def crashes(id)
      last, kind = @deaths[id].last
      @deaths[id].count do |time, other|
        other == kind && time > last - options["restart_window"]
      end
    end

    def replacing(id, facts)
      @replacing[id] = true
      @to_go[id] = facts[:pid]
    end

    # Once a successor is ready, the old node is asked to stop.
    def ready(id, facts)
      before = @to_go[id]
      @stopped[before] = true if before && before != facts[:pid]
    end

    def died(id, facts)
      return unless id.is_a?(Integer) && CRASHES.include?(facts[:reason])
      return if @stopped[facts[:pid]]
      return @waiting[id] = false if @quiet && facts["exit_status"] == 0

      @deaths[id] << [@kernel.now, refused?(facts[:pid]) ? "refusal" : facts[:phase]]
    end

    def refused?(pid)
      node = @kernel.processes[pid]&.actor
      node.is_a?(Node) && node.refused? && @failed[pid]
    end

    # The death of a successor, or of a node to replace, doesn't count as a crash.
    def drop_death(id)
      @deaths[id].pop if @deaths[id].last&.first == @kernel.now
    end

    def check_count(id, count)
      return unless id.is_a?(Integer) # a spare's place is used again

      since = @kernel.now - options["restart_window"] - LATE
      dead = @kernel.processes.each_value.count { |process| dead_of?(process, id, since) }
      dead += @unforked.count { |time| time > since }
      @kernel.violate("#{count} deaths of node #{id} count, #{dead} died") if count > dead
    end

    def dead_of?(process, id, since)
      node = process.actor
      return false unless node.is_a?(Node) && [node.place, @places[process.pid]].include?(id)

      process.dying? || process.died_at.to_f > since
    end
  end
end
