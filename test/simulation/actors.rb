# frozen_string_literal: true

require "json"
require "simulation/adapter"

# The programs of the simulated processes: molds and nodes that act on the supervisor like real
# ones. Each follows its plan, with its own delays; faults come from the schedule (World#apply).
module Simulation
  # A program that communicates over a channel.
  class Actor
    attr_reader :process

    def initialize(world, process, socket)
      @world = world
      @kernel = world.kernel
      @process = process
      process.actor = self
      listen_to(socket)
    end

    # Does nothing for so many seconds; nil: forever.
    def hang(seconds = nil)
      @hung = @hung_once = true
      later(seconds) { recover } if seconds
    end

    def hung? = @hung ? true : false
    def ever_silent? = @hung_once || process.ever_stopped?
    def awake? = process.running? && !@hung && !process.stopped?

    def recover
      @hung = false
      wake
    end

    def resumed = wake

    # Reads from its channel a moment later.
    def wake
      return if @waking || !awake?

      @waking = true
      @kernel.after(latency) do
        @waking = false
        read if awake?
      end
    end

    # Returns true if it was sent; :lost or :late if the schedule keeps it from the supervisor, and
    # false if there is nobody to send it to.
    def post(type, facts = {}, **how)
      return false unless process.running? && !@channel.closed?

      loss = @world.loss(is_a?(Mold) ? :mold : :node)
      hold_messages(loss) if loss.is_a?(Float)
      return :lost if loss == :lost
      return @held_back.push([type, facts, how]) && :late if @held_back

      @channel.post(type, facts, **how) if loss == :doubled
      @channel.post(type, facts, **how)
    end

    # Sends bytes that are no message.
    def send_garbage
      @sent_garbage = true
      process.running? && !@channel.closed? && @socket.sendmsg_nonblock("\0\0\0\4\1\0nonsense")
    rescue Errno::EPIPE
      nil # the supervisor has closed the channel
    end

    def sent_garbage? = @sent_garbage ? true : false
    def close_channel = @channel.close

    private

    # Messages stay in order: those that come meanwhile wait, too.
    def hold_messages(seconds)
      return if @held_back

      @held_back = []
      later(seconds) do
        messages, @held_back = @held_back, nil
        messages.each { |type, facts, how| post(type, facts, **how) }
      end
    end

    def listen_to(socket)
      @socket = socket
      @channel = Adapter.channel(socket)
      socket.endpoint.woken = method(:wake)
      wake
    end

    def later(seconds, &block)
      @kernel.after(seconds) { block.call if process.running? }
    end

    # Calls the block later, unless it hangs or is stopped then; otherwise, when it continues.
    def act(seconds, &block)
      later(seconds) { awake? ? block.call : (@held ||= []) << block }
    end

    def read
      held, @held = @held, nil
      held&.each { |block| block.call if awake? }
      return if @channel.closed? || !awake?

      state = @channel.receive { |frame| handle(frame) if process.running? }
      return wake if state == :more

      channel_ended unless state || @ended || !process.running?
      @channel.flush unless @channel.closed?
    end
  end

  # A mold: loads, warms up, forks and reaps.
  class Mold < Actor
    attr_reader :number, :page_index

    # page_index: of the node that it was.
    def initialize(world, process, socket, number:, page_index: nil)
      @number = number
      @page_index = page_index
      @dice = world.dice(1, number)
      @plan = { load: 0.05 + (@dice.rand * 0.5), warm: 0.02 + (@dice.rand * 0.3),
                fork: 0.001 + (@dice.rand * 0.02) }
      @busy_until = 0.0
      super(world, process, socket)
    end

    def latency = 0.000_1 + (@dice.rand * 0.001)
    def ready? = @ready

    # Ignores its release from now on.
    def ignore_release = @ignores_release = true

    # Called after a node has become this mold.
    def warm_up
      act(@plan[:warm]) { get_ready }
    end

    def child_ended(child)
      return unless process.running? && child.announced # the fork is reported before the exit
      return @unreaped = [*@unreaped, child] unless awake?

      act(latency + @world.report_delay) { reap(child) }
    end

    def recover
      super
      unreaped, @unreaped = @unreaped, nil
      unreaped&.each { |child| child_ended(child) }
    end

    def resumed
      super
      recover unless hung?
    end

    def signal(name)
      process.die_of(name) if %w[TERM INT QUIT ABRT SEGV].include?(name)
    end

    private

    def handle(frame)
      case frame.type
      when "load" then load(@world.mold_fault(:load))
      when "prepare" then act(@plan[:warm] + @world.slowness(:warm)) { warm_up_or_fail }
      when "fork" then fork_node(frame)
      when "end" then end_child(frame["pid"])
      when "ping" then post("pong")
      when "retire" then nil # it forks nothing ahead
      when "leave" then @released = true unless @ignores_release
      end
    end

    def load(fault)
      return if fault == :never

      act(@plan[:load] + @world.slowness(:load)) do
        case fault
        when :die then process.exit(1)
        when :crash then process.die_of("SEGV")
        when :refuse then post("refused", { "sentence" => "line 1: no", "exit_code" => 78 })
        else post("loaded", @world.file)
        end
      end
    end

    def warm_up_or_fail
      case @world.mold_fault(:prepare)
      when :never then nil
      when :die then process.exit(1)
      when :crash then process.die_of("SEGV")
      when :refuse then post("refused", { "sentence" => "preload: no", "exit_code" => 75 })
      else get_ready
      end
    end

    def get_ready
      @ready = true
      post("ready", { "seconds" => 0.1, "findings" => [], "warnings" => [], "warmup" => {},
                      "passes_on" => false, "slots" => 9 })
    end

    # Forks nodes one after the other.
    def fork_node(frame)
      @busy_until = [@busy_until, @kernel.now].max + @plan[:fork] + @world.slowness(:fork)
      act(@busy_until - @kernel.now) { forked(frame.facts, frame.ios.first) }
    end

    def forked(request, socket)
      if socket.nil? || @world.node_fork_failed?
        socket&.close
        return post("fork_failed", { "page_index" => request["page_index"],
                                     "error" => "Resource temporarily unavailable" })
      end

      child = @kernel.spawn(process)
      Node.new(@world, child, socket.in_flight.receive.call(child), request:, mold: self)
      socket.close
      report_fork(request, child)
    end

    def end_child(pid)
      later(@world.options.fetch("stop_timeout")) do
        process.children.each { |child| child.signal("KILL") if child.pid == pid }
      end
    end

    def report_fork(request, child)
      facts = { "page_index" => request["page_index"], "pid" => child.pid }
      handle = ProcessDescriptor.new(@kernel, process, child)
      act(0.000_1 + @world.slowness(:forked)) do
        child.announced = post("forked", facts, lend: [handle])
        child_ended(child) if child.zombie?
      end
      @world.forked(child.actor)
    end

    def reap(child)
      return unless child.zombie?

      page_index = child.actor.page_index
      status = child.reap(process)
      facts = { "page_index" => page_index, "pid" => child.pid, "exit_status" => status.exitstatus,
                "signal" => status.name }
      times = @world.reports
      times.times { child.reported = post("exited", facts) }
      process.exit(0) if @ended && process.children.none?(&:running?)
    end

    def channel_ended
      @ended = true
      return if @ignores_release
      return process.exit(0) if @released || process.children.none?(&:running?)

      later(2.0) do
        process.children.each { |child| child.signal("KILL") }
        later(0.1) { process.exit(0) }
      end
    end
  end

  # A node, a spare or the helper.
  class Node < Actor
    attr_reader :page_index, :slot, :mold, :number

    def initialize(world, process, socket, request:, mold:)
      @request = request
      @page_index = request["page_index"]
      @spare = request["spare"]
      @slot = request["node"]
      @mold = mold
      @number = world.count_node(label)
      @dice = world.dice(2, label.hash_key, @number)
      @boot = 0.01 + (@dice.rand * 0.2)
      @stop = 0.005 + (@dice.rand**3 * 0.4)
      @state = :booting
      super(world, process, socket)
      boot(world.boot_fault(self))
    end

    Label = Struct.new(:kind, :id) do
      def hash_key = (kind * 1_000) + id
    end

    def label = @label ||= Label.new(@spare ? 1 : (@request["task"] ? 0 : 2), @slot || 0)
    def latency = 0.000_1 + (@dice.rand * 0.001)
    def spare? = @state == :spare
    def spare_at_birth? = @spare ? true : false
    def refused? = @refused ? true : false # it has said that it can't begin

    # Returns its name in events.
    def place
      return "helper" if helper?

      slot || "spare #{@request["page_index"]}"
    end

    def helper? = !@spare && @request["task"].nil?

    # Returns true if it does its slot's work.
    def working?
      @state == :working && process.running? && !process.dying? && !@channel_closed &&
        !@socket.endpoint.peer.shut?
    end

    def ready? = %i[working spare].include?(@state)
    def channel_closed? = @channel_closed
    def left? = @state == :stopping
    def asked_to_stop? = @stopping || @state == :stopping
    def healthy? = ready? && awake? && !@channel_closed
    def stop_in(seconds) = @stop = seconds

    def boot(fault)
      return if fault == :never

      act(@boot + @world.slowness(:boot)) do
        case fault
        when :die then process.die_of("SEGV")
        when :exit then leave(1)
        when :clean then leave(0)
        when :fail then fail_boot({})
        when :refuse then fail_boot({ "refused" => true, "exit_code" => 75 })
        else booted
        end
      end
    end

    # Reports that it exits, and exits.
    def leave(status)
      return unless process.running?

      post("leaving")
      @state = :stopping
      act(0.001) { process.exit(status) }
    end

    # Reports that it exits, and doesn't.
    def leave_never
      post("leaving")
      @state = :stopping
      @stop = nil
    end

    def drop_channel
      @channel_closed = true
      close_channel
    end

    def ignore_stop = @stop = nil

    def report_unhealthy(reason)
      return unless ready?

      Adapter.unhealthy(@world, self, true)
      post("unhealthy", { "reason" => reason })
    end

    def report_healthy
      Adapter.unhealthy(@world, self, false)
      post("healthy")
    end

    def take_item(text) = Adapter.item(@world, self, text)

    # Reports that it is warm, so that it may be asked to become a mold.
    def report_warm = post("warm")

    # Writes its last beat to the page, before the supervisor reads it.
    def beat(now, frozen)
      return if !ready? || @hung || process.stopped?

      elapsed = now - frozen - @ready_at
      number = (elapsed / @world.beat_every).floor
      return if number == @beats

      @beats = number
      Adapter.beat(@world, self, now - (elapsed - (number * @world.beat_every)))
      Adapter.measure(@world, self) if (number % 4).zero?
    end

    def recover
      super
      @ready_at = @kernel.now - @kernel.frozen_seconds if ready?
      @beats = nil
    end

    def resumed
      recover unless hung?
    end

    # Its own children don't concern the supervisor.
    def child_ended(_child) = nil

    def signal(name)
      case name
      when "TERM", "INT" then hung? ? nil : stop
      when "QUIT" then process.exit(2)
      when "ABRT" then process.die_of("ABRT")
      when "SEGV" then process.die_of("SEGV")
      end
    end

    private

    def booted
      return leave(0) if @stopping

      return post("spare").tap { begin_work(:spare) } if @spare && @slot.nil?

      begin_work(:working)
      post("ready")
      post("ready") if @world.twice?
    end

    def begin_work(state)
      @state = state
      @ready_at = @kernel.now - @kernel.frozen_seconds
      @beats = nil
      Adapter.beat(@world, self, @kernel.now)
    end

    def fail_boot(facts)
      @refused = facts["refused"]
      post("failed", { "sentence" => "no database", **facts })
      leave(1)
    end

    def handle(frame)
      case frame.type
      when "stop" then stop(all: frame["all"])
      when "all_finished" then all_finished
      when "become_mold" then become_mold(frame["mold"], frame.ios.first)
      when "measure" then Adapter.measure(@world, self)
      when "backtraces" then answer(frame["hung"])
      when "step_in" then step_in(frame["node"])
      when "quiet" then @quiet = true
      when "resume" then @quiet = false
      else frame.ios.each(&:close)
      end
    end

    def answer(hung)
      threads = [{ "name" => "main", "tid" => 1, "status" => "sleep", "backtrace" => ["a.rb:1"] }]
      return post("backtraces", { "threads" => threads }) if hung

      post("event",
           { "name" => "node_backtraces", "level" => "info", "facts" => { "threads" => threads } })
    end

    def stop(all: false)
      return if @stopping

      @stopping = true
      return if @state == :booting

      post("leaving")
      @state = :stopping
      act(@stop) { @mold_request ? continue_as_mold : finish(all && waits_for_others?) } if @stop
    end

    # Nodes of a Kafka group do so.
    def waits_for_others? = !helper? && page_index.odd?

    def finish(together)
      return leave(0) unless together

      post("finished")
      @finished = true
      act(2.0) { leave(0) }
    end

    def all_finished
      @kernel.violate("node #{place} hadn't finished") unless @finished
      leave(0)
    end

    def become_mold(number, socket)
      @mold_request = [number, socket]
      stop
    end

    def continue_as_mold
      return if process.dying?

      post("leaving")
      number, socket = @mold_request
      return unfit if socket.nil? || @world.unfit?

      post("became_mold")
      @channel.close
      @world.forget(self)
      process.dies_after = KernelProcess::DIES_AFTER # a mold that can't be killed holds all up
      @world.mold = Mold.new(@world, process, socket, number:, page_index:).tap(&:warm_up)
    end

    def unfit
      post("unfit", { "sentence" => "a thread" })
      leave(0)
    end

    # A spare gets a slot.
    def step_in(slot)
      return unless @state == :spare && !@stopping

      @slot = slot
      @state = :booting
      post("stepped_in", { "node" => slot, "seconds" => 0.001 })
      act(0.002) { booted }
    end

    # The supervisor has closed the channel, or has exited: an orphan ends after a while.
    def channel_ended
      return if @ended

      @ended = true
      @state = :stopping
      later(@stop || 1.0) { process.exit(3) }
    end
  end
end
