# frozen_string_literal: true

require "simulation/adapter"

# What is decided about slots is seen in what becomes of them: that limits hold, that a process goes
# only once its successor works, that a rollout reaches all nodes or none, and that errors of the
# supervisor's own count. None of this asks SlotPolicy, Budget or ErrorGuard.
module Simulation
  class DecisionInvariants
    ROLLOUTS = %w[restart reload refork].freeze # reasons to replace all nodes, one after the other
    ROLLOUT = /\A(#{ROLLOUTS.join("|")})_(started|finished|failed|refused)\z/ # events
    ONE_IN = 20 # of so many slots one is replaced at a time for memory or lifetime
    ERRORS = 10 # within a minute: with more the swarm ends
    MINUTE = 60.0
    SOON = 0.5 # seconds
    RELEASE = 1.0 # seconds that a mold has to end
    private_constant :ROLLOUTS, :ROLLOUT, :ONE_IN, :ERRORS, :MINUTE, :SOON, :RELEASE

    def initialize(world)
      @world = world
      @kernel = world.kernel
      @replacing = {} # by slot: its Replacement
      @began = {} # rollouts under way: when
      @adopted = {}.compare_by_identity # molds that nodes were forked from
      @kept = {} # labels of slots whose process stayed because no other could be had
      @errors = [] # times of those that count
      @reports = []
    end

    # limited: its process is still at work, and only so many are replaced at a time.
    Replacement = Struct.new(:reason, :pid, :limited, :ready)
    private_constant :Replacement

    # The supervisor gets a signal.
    def signalled(name)
      @reload_asked = @kernel.now if name == "HUP" && running?
    end

    # An error is about to be thrown in a callback of that kind.
    def planted(kind)
      @errors << @kernel.now unless kind == "observer"
    end

    def storm? = @errors.each_cons(ERRORS + 1).any? { |some| some.last - some.first < MINUTE }

    def recorded(name, facts)
      case name
      when "node_replacing" then replacing(*facts.values_at(:node, :reason, :pid))
      when "node_replaced" then replaced(*facts.values_at(:node, :pid))
      when "replacement_failed" then failed(facts[:node])
      when "node_ready" then ready(facts[:node])
      when "spare_ready" then ready(facts[:node])
      when "node_died", "node_exited" then exited(facts)
      when ROLLOUT then rollout($1, $2, facts)
      when "supervisor_error" then reported
      when "mold_ready" then @ready_at ||= @kernel.now
      when "swarm_forced" then @forced = true
      when "swarm_stopped" then stopped
      end
    end

    def each_turn
      check_boots
      check_start
      check_mold
      check_unkillable
      check_storm
      check_release
    end

    # All has settled, without a fault.
    def at_rest
      check_reload
      check_molds
    end

    def after_the_end
      return if @errors.size > ERRORS || dropped?

      count = @world.log.count { |_, name, _| name == "supervisor_error" }
      thrown = @world.thrown
      @kernel.violate("#{thrown} errors, #{count} events") if count < [thrown, ERRORS].min
    end

    private

    def options = @world.options
    def supervisor = @world.supervisor
    def running? = Adapter.started?(supervisor) && !Adapter.stopping?(supervisor)
    def dropped? = @world.schedule.events.any? { |_, kind| kind == :dropped }

    # Limits.

    def check_boots
      count = Adapter.booting(supervisor)
      return if count <= options["boot_concurrency"] + @world.spares_used

      @kernel.violate("#{count} nodes boot at the same time")
    end

    # As soon as there is a mold, processes are launched.
    def check_start
      @launched ||= Adapter.nodes(supervisor).any?
      return if @launched || @ready_at.nil? || @kernel.now - @ready_at < SOON || !running?
      return if @kernel.pause_seconds.positive? || @world.thrown.positive? ||
                Adapter.current_mold(supervisor).nil? || recorded?("fork_failed")

      @kernel.violate("no process is launched")
    end

    def replacing(id, reason, pid)
      @kernel.violate("slot #{id} is replaced without a reason") unless reason
      limited = !ROLLOUTS.include?(reason) && !Adapter.ends?(supervisor, pid)
      @replacing[id] = Replacement.new(reason, pid, limited, false)
      own = @replacing.select { |_, one| one.limited }
      most = [Adapter.slots(supervisor).size / ONE_IN, 1].max
      @kernel.violate("replaced at the same time: #{own}") if own.size > most
    end

    # Replacements.

    # (A spare whose successor has stepped in somewhere stays, or leaves.)
    def replaced(id, pid)
      old = @replacing.delete(id)
      return if old&.pid != pid || id.to_s.start_with?("spare")

      @kernel.violate("slot #{id} was replaced by the process that it had")
    end

    def ready(id)
      @replacing[id]&.ready = true
    end

    def failed(id)
      @replacing.delete(id)
      @kept[id] = @any_kept = true
    end

    # Only its successor makes a process go.
    def exited(facts)
      one = @replacing[facts[:node]]
      return unless one && one.pid == facts[:pid] && one.reason == facts[:reason]
      return if one.ready || !ROLLOUTS.include?(one.reason)

      @kernel.violate("node #{facts[:node]} was stopped before its successor was ready")
    end

    # A process that can't be killed doesn't hold its slot for long.
    def check_unkillable
      return if @kernel.pause_seconds.positive?

      limit = (2 * options["kill_timeout"]) + SOON
      Adapter.nodes(supervisor).each do |node|
        process = @kernel.processes[node.pid] or next
        killed_at, = process.signals.find { |_, name| name == "KILL" }
        next unless killed_at && process.running? && @kernel.now - killed_at > limit

        @kernel.violate("process #{node.pid} can't be killed, and holds a slot")
      end
    end

    # Once all nodes have ended, molds don't hold the end up for long.
    def check_release
      drained = Adapter.stopping?(supervisor) && Adapter.nodes(supervisor).none?
      return @drained_at = nil if !drained || @kernel.pause_seconds.positive?

      @drained_at ||= @kernel.now
      return unless @kernel.now - @drained_at > RELEASE + SOON && @world.thrown.zero?

      @kernel.violate("a mold that was released is still there")
    end

    # Rollouts.

    def rollout(name, step, facts)
      note_adopted if name != "restart" && (step == "finished" || facts[:hint])
      case step
      when "started" then begin_rollout(name)
      when "finished" then finish_rollout(name)
      when "failed" then fail_rollout(name, facts[:error].to_s)
      when "refused" then refused(name)
      end
    end

    def begin_rollout(name)
      @began[name] = @kernel.now
      @any_kept = false
      @generation = Adapter.generation(supervisor)
      @reload_asked = nil if name == "reload"
    end

    # A slot keeps its process only after a replacement that has failed.
    def fail_rollout(name, error)
      @began.delete(name)
      return unless error.include?("could not be replaced") && !@any_kept

      @kernel.violate("a #{name} fails, and no replacement has")
    end

    # A reload that comes during a reload follows it.
    def refused(name)
      return unless name == "reload"

      @reload_asked = nil
      @kernel.violate("a reload during a reload is refused") if @began["reload"] && running?
    end

    # Every process is new; after a reload its mold is, too.
    def finish_rollout(name)
      began = @began.delete(name)
      return if name == "refork" || !running? || of_one_slot?

      old = holders.reject do |node|
        node.nil? || (name == "reload" ? node.mold.process : node.process).began_at >= began
      end
      @kernel.violate("after a #{name} old nodes are left: #{old.map(&:place)}") if old.any?
    end

    # The mold that a rollout has adopted may have died in the same turn. (One that fails after its
    # canary gives a hint.)
    def note_adopted
      nodes = Adapter.all_slots(supervisor).filter_map(&:node)
      new = nodes.select { |node| node.generation == Adapter.generation(supervisor) }
      new.each { |node| @adopted[node.mold] = true }
    end

    # A restart of one slot doesn't raise the generation of all.
    def of_one_slot? = Adapter.generation(supervisor) == @generation

    def holders
      Adapter.all_slots(supervisor).filter_map { |slot| actor_of(slot.node&.pid) }
    end

    def actor_of(pid)
      actor = @kernel.processes[pid]&.actor
      actor if actor.is_a?(Node)
    end

    # A new mold is used for all once a node of it has worked; there may be no slot to try it with.
    def check_mold
      mold = Adapter.current_mold(supervisor)
      return if mold.nil? || @adopted.key?(mold)

      tried = @adopted.empty? || !@began["reload"] || Adapter.slots(supervisor).none?(&:wanted?) ||
              mold_worked?(mold.pid)
      @adopted[mold] = true
      @kernel.violate("mold #{mold.number} is adopted, and no node of it has worked") unless tried
    end

    def mold_worked?(pid)
      ready = @world.log.filter_map { |_, name, facts| facts[:pid] if name == "node_ready" }
      ready.any? { |node| actor_of(node)&.mold&.process&.pid == pid } ||
        !@adopted.keys.last.live?
    end

    # A signal to reload leads to one, be it refused.
    def check_reload
      return if @reload_asked.nil? || @world.thrown.positive? || @kernel.pause_seconds.positive?

      @kernel.violate("a reload that was asked for is forgotten")
    end

    # No node of a mold that was rolled back works on.
    def check_molds
      Adapter.all_slots(supervisor).each do |slot|
        next if slot.node.nil? || @adopted.key?(slot.node.mold) || @kept[slot.label]

        @kernel.violate("node #{slot.label} is of a mold that was rolled back")
      end
    end

    # Errors.

    def recorded?(name) = @world.log.any? { |_, one, _| one == name }

    def reported
      @reports << @kernel.now
      recent = @reports.last(ERRORS + 1)
      return if recent.size <= ERRORS || recent.last - recent.first >= MINUTE

      @kernel.violate("more than #{ERRORS} errors are reported within a minute")
    end

    def check_storm
      return unless storm? && !Adapter.stopping?(supervisor)

      @storm_at ||= @kernel.now
      return unless @kernel.now - @storm_at > SOON

      @kernel.violate("so many errors don't end the swarm")
    end

    # All that worked has ended before, the helper last.
    def stopped
      return if @forced || @world.thrown.positive? || !Adapter.started?(supervisor)

      left = Adapter.nodes(supervisor)
      @kernel.violate("the swarm has stopped, and knows of #{left}") if left.any?
    end
  end
end
