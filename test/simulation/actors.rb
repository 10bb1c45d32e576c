# frozen_string_literal: true

require "json"
require "simulation/adapter"

# What runs in the processes of the made-up machine: molds and nodes, as far as the supervisor can
# tell them from real ones. Each does as its plan says, in its own time; what goes wrong comes from
# the schedule (World#apply).
module Simulation
  # One that is spoken to over a channel.
  class Actor
    attr_reader :process

    def initialize(world, process, socket)
      @world = world
      @kernel = world.kernel
      @process = process
      process.actor = self
      listen_to(socket)
    end

    # It does nothing from here on, for so many seconds (nil: for good).
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

    def went_on = wake

    # Its channel has something to read: it comes to that a moment later.
    def wake
      return if @waking || !awake?

      @waking = true
      @kernel.after(latency) do
        @waking = false
        read if awake?
      end
    end

    def say(type, facts = {}, **how)
      process.running? && !@channel.closed? && @channel.post(type, facts, **how)
    end

    # What isn't a message at all.
    def babble
      @babbled = true
      process.running? && !@channel.closed? && @socket.sendmsg_nonblock("\0\0\0\4\1\0nonsense")
    rescue Errno::EPIPE
      nil # nobody is there to be annoyed
    end

    def babbled? = @babbled ? true : false
    def close_channel = @channel.close

    private

    def listen_to(socket)
      @socket = socket
      @channel = Adapter.channel(socket)
      socket.endpoint.woken = method(:wake)
      wake
    end

    def later(seconds, &block)
      @kernel.after(seconds) { block.call if process.running? }
    end

    # What it does itself, as long as nothing holds it.
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

    # It doesn't end when it is to.
    def stay = @stays = true

    # Another process was a node, and goes on as this mold.
    def warm_up
      act(@plan[:warm]) { get_ready }
    end

    def child_ended(child)
      return unless process.running? && child.announced # its birth is told before its end
      return @unreaped = [*@unreaped, child] unless awake?

      act(latency + @world.report_delay) { reap(child) }
    end

    def recover
      super
      unreaped, @unreaped = @unreaped, nil
      unreaped&.each { |child| child_ended(child) }
    end

    def went_on
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
      when "ping" then say("pong")
      when "leave" then @released = true unless @stays
      end
    end

    def load(fault)
      return if fault == :never

      act(@plan[:load] + @world.slowness(:load)) do
        case fault
        when :die then process.exit(1)
        when :crash then process.die_of("SEGV")
        when :refuse then say("refused", { "sentence" => "line 1: no", "exit_code" => 78 })
        else say("loaded", @world.file)
        end
      end
    end

    def warm_up_or_fail
      case @world.mold_fault(:prepare)
      when :never then nil
      when :die then process.exit(1)
      when :crash then process.die_of("SEGV")
      when :refuse then say("refused", { "sentence" => "preload: no", "exit_code" => 75 })
      else get_ready
      end
    end

    def get_ready
      @ready = true
      say("ready",
{ "seconds" => 0.1, "findings" => [], "warmup" => {}, "passes_on" => false, "slots" => 9 })
    end

    # One after the other.
    def fork_node(frame)
      @busy_until = [@busy_until, @kernel.now].max + @plan[:fork] + @world.slowness(:fork)
      act(@busy_until - @kernel.now) { born(frame.facts, frame.ios.first) }
    end

    def born(birth, socket)
      if socket.nil? || @world.node_fork_failed?
        socket&.close
        return say("fork_failed",
{ "page_index" => birth["page_index"], "error" => "Resource temporarily unavailable" })
      end

      child = @kernel.spawn(process)
      Node.new(@world, child, socket.in_flight.receive.call(child), birth:, mold: self)
      socket.close
      tell_of(birth, child)
    end

    def tell_of(birth, child)
      facts = { "page_index" => birth["page_index"], "pid" => child.pid }
      handle = ProcessDescriptor.new(@kernel, process, child)
      act(0.000_1 + @world.slowness(:forked)) do
        child.announced = say("forked", facts, lend: [handle])
        child_ended(child) if child.zombie?
      end
      @world.born(child.actor)
    end

    def reap(child)
      return unless child.zombie?

      page_index = child.actor.page_index
      status = child.reap(process)
      facts = { "page_index" => page_index, "pid" => child.pid, "exit_status" => status.exitstatus,
"signal" => status.name }
      times = @world.reports
      times.times { child.reported = say("exited", facts) }
      process.exit(0) if @ended && process.children.none?(&:running?)
    end

    def channel_ended
      @ended = true
      return if @stays
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

    def initialize(world, process, socket, birth:, mold:)
      @birth = birth
      @page_index = birth["page_index"]
      @spare = birth["spare"]
      @slot = birth["node"]
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

    def label = @label ||= Label.new(@spare ? 1 : (@birth["task"] ? 0 : 2), @slot || 0)
    def latency = 0.000_1 + (@dice.rand * 0.001)
    def spare? = @state == :spare

    # What events call it.
    def place
      return "helper" if helper?

      slot || "spare #{@birth["page_index"]}"
    end

    def helper? = !@spare && @birth["task"].nil?

    # Does it do its slot's work?
    def working?
      @state == :working && process.running? && !process.dying? && !@deaf &&
        !@socket.endpoint.peer.shut?
    end

    def ready? = %i[working spare].include?(@state)
    def deaf? = @deaf
    def told_to_stop? = @stopping || @state == :stopping
    def well? = ready? && awake? && !@deaf
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

    # Ends in its own time, saying so.
    def leave(status)
      return unless process.running?

      say("leaving")
      @state = :stopping
      act(0.001) { process.exit(status) }
    end

    # It says that it ends, and doesn't.
    def leave_never
      say("leaving")
      @state = :stopping
      @stop = nil
    end

    def be_deaf
      @deaf = true
      close_channel
    end

    def stay_when_told = @stop = nil

    def complain(reason)
      return unless ready?

      Adapter.ill(@world, self, true)
      say("unhealthy", { "reason" => reason })
    end

    def be_well
      Adapter.ill(@world, self, false)
      say("healthy")
    end

    def hold(text) = Adapter.hold(@world, self, text)

    # It has got warm, and may be asked to become a mold.
    def get_warm = say("warm")

    # Its beats so far, as they are on the page when the supervisor looks.
    def beat(now, frozen)
      return if !ready? || @hung || process.stopped?

      elapsed = now - frozen - @ready_at
      number = (elapsed / @world.beat_every).floor
      return if number == @beats

      @beats = number
      Adapter.beat(@world, self, now - (elapsed - (number * @world.beat_every)))
    end

    def recover
      super
      @ready_at = @kernel.now - @kernel.frozen_seconds if ready?
      @beats = nil
    end

    def went_on
      recover unless hung?
    end

    # Its own children are none of the supervisor's.
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

      return say("spare").tap { live(:spare) } if @spare && @slot.nil?

      live(:working)
      say("ready")
      say("ready") if @world.twice?
    end

    def live(state)
      @state = state
      @ready_at = @kernel.now - @kernel.frozen_seconds
      @beats = nil
      Adapter.beat(@world, self, @kernel.now)
    end

    def fail_boot(facts)
      say("failed", { "sentence" => "no database", **facts })
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
      else frame.ios.each(&:close)
      end
    end

    def answer(hung)
      threads = [{ "name" => "main", "tid" => 1, "status" => "sleep", "backtrace" => ["a.rb:1"] }]
      return say("backtraces", { "threads" => threads }) if hung

      say("event",
{ "name" => "node_backtraces", "level" => "info", "facts" => { "threads" => threads } })
    end

    def stop(all: false)
      return if @stopping

      @stopping = true
      return if @state == :booting

      say("leaving")
      @state = :stopping
      act(@stop) { @calling ? go_on_as_mold : finish(all && waits_for_others?) } if @stop
    end

    # As nodes of a Kafka group do.
    def waits_for_others? = !helper? && page_index.odd?

    def finish(together)
      return leave(0) unless together

      say("finished")
      @finished = true
      act(2.0) { leave(0) }
    end

    def all_finished
      @kernel.violate("node #{place} hadn't finished") unless @finished
      leave(0)
    end

    def become_mold(number, socket)
      @calling = [number, socket]
      stop
    end

    def go_on_as_mold
      say("leaving")
      number, socket = @calling
      return unfit if socket.nil? || @world.unfit?

      say("became_mold")
      @channel.close
      @world.gone(self)
      @world.mold = Mold.new(@world, process, socket, number:, page_index:).tap(&:warm_up)
    end

    def unfit
      say("unfit", { "sentence" => "a thread" })
      leave(0)
    end

    # As a spare it is offered a slot.
    def step_in(slot)
      return unless @state == :spare && !@stopping

      @slot = slot
      @state = :booting
      say("stepped_in", { "node" => slot, "seconds" => 0.001 })
      act(0.002) { booted }
    end

    # The supervisor is deaf to it, or gone: an orphan ends by force in time.
    def channel_ended
      return if @ended

      @ended = true
      @state = :stopping
      later(@stop || 1.0) { process.exit(3) }
    end
  end
end
