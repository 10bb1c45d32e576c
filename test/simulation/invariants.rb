# frozen_string_literal: true

require "simulation/adapter"
require "simulation/decision_invariants"
require "simulation/restart_invariants"
require "simulation/settled"

# The invariants that must hold in each run. They are checked at each event that the supervisor
# publishes, after each turn of its loop, when faults are over and all has settled, and at its end.
module Simulation
  class Invariants
    SETTLE = 150.0 # seconds after the last fault
    # Seconds that a stop may take beside its timeouts: for a forced end, the molds, and orphans.
    END_SECONDS = 2.0 + 1.0 + 5.0 + 1.5
    SAME_SECONDS = 0.05
    ROLLOUTS = %w[restart reload refork].freeze # reasons to replace all nodes, one after the other
    private_constant :SETTLE, :END_SECONDS, :SAME_SECONDS, :ROLLOUTS

    def initialize(world)
      @world = world
      @kernel = world.kernel
      @restarts = RestartInvariants.new(world)
      @decisions = DecisionInvariants.new(world)
      @settled = Settled.new(world)
      @replacing = {} # the reasons, by slot
    end

    # Returns true if the supervisor stops or has ended.
    def stopping? = !@stop_at.nil? || @over || Adapter.stopping?(@world.supervisor)

    # A signal is about to be sent to the supervisor. Two at the same time count as one.
    def signalled(name)
      @decisions.signalled(name)
      return unless %w[TERM INT QUIT].include?(name)

      again = @stop_at && @kernel.now - @stop_at >= SAME_SECONDS && anything_left?
      @forced_at ||= @kernel.now if name == "QUIT" || again
      @stop_at ||= @kernel.now
      nil
    end

    def calm = @calm_at = @kernel.now
    def end_waits = @restarts.end_waits
    def clear_deaths = @restarts.clear_deaths
    def forked(node) = @restarts.forked(node)
    def planted(kind) = @decisions.planted(kind)

    def recorded(name, facts)
      @restarts.recorded(name, facts)
      @decisions.recorded(name, facts)
      case name
      when "swarm_stopping" then @stopping_at ||= @kernel.now
      when "swarm_forced" then @reported_forced = true
      when "crash_loop" then @crash_loop = true
      when "supervisor_error" then check_error(facts)
      when "node_ready" then ready(facts)
      when "node_died", "node_exited" then died(facts)
      when "node_replacing" then replacing(*facts.values_at(:node, :reason))
      when "node_replaced", "replacement_failed" then @replacing.delete(facts[:node])
      when "mold_died" then check_forks(facts[:pid])
      when "supervisor_late" then @kernel.frozen_at = nil
      when "node_hung" then check_hung(facts)
      when "node_unkillable" then check_unkillable(facts)
      end
    end

    def each_turn
      check_overdue
      return unless Adapter.started?(@world.supervisor)

      check_pairs
      check_undone
      @decisions.each_turn
    end

    # Returns true if all has settled, or violates an invariant if that takes too long.
    def settled?
      why = @settled.lacks(@world.supervisor)
      @decisions.at_rest unless why
      return true unless why
      return false unless @kernel.now - @calm_at > SETTLE + allowance

      @kernel.violate("not settled after #{SETTLE} s: #{why}")
      true
    end

    def after_the_end
      @over = true
      processes = @kernel.processes.each_value
      left = processes.select { |process| process.running? && !process.dying? }
      zombies = processes.select { |process| process.zombie? && process.orphan? }
      none("processes without an owner", left)
      none("not reaped", zombies)
      none("open descriptors", @kernel.open.keys)
      check_force
      check_code(@world.code)
      check_thrown
      @decisions.after_the_end
    end

    private

    # Returns the extension of deadlines for the supervisor's pauses (OS::EventLoop::Deadline).
    def allowance = @kernel.pause_seconds * 11

    def options = @world.options
    def none(what, left) = left.any? && @kernel.violate("#{what}: #{left.inspect}")
    def actor(facts) = @kernel.processes[facts[:pid]].actor

    # Errors that the schedule plants are reported, each once; there are no others.
    def check_error(facts)
      return if facts[:error].end_with?("thrown by the simulation")

      @kernel.violate("supervisor_error: #{error(facts)}")
    end

    def check_thrown
      counted = Adapter.errors(@world.supervisor)
      return if @world.thrown == counted

      @kernel.violate("#{@world.thrown} errors were thrown, #{counted} reported")
    end

    def error(facts)
      lines = facts[:backtrace].to_a.grep(/skep/).first(2)
      [facts[:error], *lines.map { |line| line[%r{skep/.*}] }].join(" ")
    end

    # Counts only nodes that are ready before the supervisor stops.
    def ready(facts)
      @ever_ready = true unless facts[:node] == "helper" || Adapter.stopping?(@world.supervisor)
    end

    def died(facts)
      check_status(@kernel.processes[facts[:pid]], facts.values_at("exit_status", "signal"))
      return unless facts[:reason] && facts["signal"]

      @killed = true if @stopping_at
      check_stop_request(facts) if facts.values_at(:reason, "signal") == %w[stop_timeout KILL]
    end

    # A rollout replaces one slot at a time.
    def replacing(slot, reason)
      @replacing[slot] = reason
      together = @replacing.select { |_, one| ROLLOUTS.include?(one) }
      @kernel.violate("replaced at the same time: #{together}") if together.size > 1
    end

    # The supervisor knows each node that a mold has reported before it died.
    def check_forks(mold)
      return unless Adapter.started?(@world.supervisor)
      return if @world.schedule.events.any? { |_, kind| kind == :no_descriptors }
      return if @world.thrown.positive? # a message may have been dropped by an error

      known = Adapter.nodes(@world.supervisor).map(&:pid)
      none("forked and unknown", @kernel.processes.each_value.select do |process|
        node = process.actor
        process.announced == true && process.running? && !process.dying? && node.is_a?(Node) &&
          node.mold.process.pid == mold && !node.mold.sent_garbage? && !known.include?(process.pid)
      end)
    end

    # The exit status comes from the mold's report, even if that is the mold's last message.
    # Messages after an invalid frame are lost.
    def check_status(process, reported)
      return if reported == process.status.to_a || (reported.none? && process.reported != true)
      return if reported.none? && process.actor.is_a?(Node) && process.actor.mold.sent_garbage?
      return if reported.none? && @world.thrown.positive?

      @kernel.violate("process #{process.pid} ended by #{process.status.to_a}, not #{reported}")
    end

    # A working node is never considered hung, whatever was paused. The supervisor can't detect a
    # pause of all processes while it sleeps, nor that a node with a closed channel exits.
    def check_hung(facts)
      node = actor(facts)
      return if node.ever_silent? || node.channel_closed? || node.left? || frozen_lately?

      @kernel.violate("node #{facts[:node]} works and is considered hung")
    end

    def frozen_lately?
      since = @kernel.frozen_at or return false
      @kernel.now - since < @world.liveness_timeout + 0.1 + @kernel.pause_seconds
    end

    # A node is killed at stop_timeout only if it was asked to stop. The helper is asked last, or
    # not at all if a stuck mold forks it too late.
    def check_stop_request(facts)
      node = actor(facts)
      return if !node.is_a?(Node) || node.helper? || node.asked_to_stop? || node.ever_silent?
      return if node.process.age < @world.stop_timeout / 2
      return if node.channel_closed?
      return if @world.schedule.events.any? { |_, kind| kind == :no_buffers }

      @kernel.violate("node #{facts[:node]} is killed at stop_timeout, and wasn't asked to stop")
    end

    # A dead node is not considered unkillable.
    def check_unkillable(facts)
      return if @kernel.processes[facts[:pid]].running?

      @kernel.violate("node #{facts[:node]} is dead and is considered unkillable")
    end

    # Nothing that was to be done for a slot is left to the next look at all slots.
    def check_undone
      undone = Adapter.undone(@world.supervisor, @kernel.now - SAME_SECONDS)
      @kernel.violate("not done for a slot: #{undone}") if undone.any?
    end

    # Two processes work for a slot only while one is the other's successor.
    def check_pairs
      working = @world.nodes.each_key.select { |node| node.working? && !node.helper? }
      return if working.size < 2

      working.group_by(&:slot).each { |id, nodes| check_pair(id, nodes) if nodes.size > 1 }
    end

    def check_pair(id, nodes)
      known = Adapter.pids_of(@world.supervisor, id)
      unknown = nodes.map { |node| node.process.pid } - known
      unknown.pop(known.count(nil)) # its mold hasn't reported it yet
      return if nodes.size == 2 && unknown.empty?

      @kernel.violate("slot #{id} has #{nodes.size} working nodes, of which it knows #{known}")
    end

    # A stop ends within its timeouts.
    def check_overdue
      return unless @stop_at && !@overdue

      seconds = options["stop_timeout"] + (2 * options["kill_timeout"]) + END_SECONDS
      return unless @kernel.now - @stop_at > seconds + allowance

      @overdue = true
      @kernel.violate("it hasn't ended #{seconds.round(1)} s after the stop")
    end

    # Without nodes a second signal has nothing to force: the supervisor may wait for a killed
    # process that can't die.
    def anything_left?
      !Adapter.started?(@world.supervisor) || Adapter.nodes(@world.supervisor).any?
    end

    def check_force
      return if @forced_at.nil? || @reported_forced || @kernel.pause_seconds.positive?
      return unless @kernel.now - @forced_at > 0.2

      @kernel.violate("a second signal, or QUIT, didn't force")
    end

    def check_code(code)
      why = case code
            when 0 then "it was forced" if @reported_forced
            when 1, 75, 78 then "a node was ready" if should_run?
            when 2 then "nothing was forced or killed" unless forced?
            when 4 then "there was no crash loop" unless @crash_loop || may_end?
            else "that isn't one"
      end
      why ||= "no signal asked it to stop" if code&.zero? && !@stop_at && !may_end?
      @kernel.violate("exit code #{code.inspect}, but #{why}") if why
    end

    # Returns true if a node was ready, and no storm of errors ended the swarm.
    def should_run? = @ever_ready && @kernel.pause_seconds.zero? && !@decisions.storm?

    # Nodes of a stuck mold may exit just before stop_timeout, or be killed then.
    def forced?
      late = @stopping_at && @kernel.now - @stopping_at >= @world.stop_timeout
      @reported_forced || @killed || @forced_at || late
    end

    # Returns true if the work may end without a stop.
    def may_end? = options["restart"] != "always" || options["never_restart_on"]
  end
end
