# frozen_string_literal: true

require "tmpdir"
require "simulation/kernel"
require "simulation/actors"
require "simulation/setup"
require "simulation/schedule"
require "simulation/invariants"

# One run of a schedule: a real supervisor on a simulated machine, from its first mold to its exit
# code.
#
#   world = World.new(Schedule.of(42))
#   world.run
#   world.violations   # => [[1012.5, "slot 0 has two working nodes"], …]
#   world.log          # => [[1000.2, "node_forked", { node: 0, … }], …]
module Simulation
  class World
    LOOK = 0.5 # seconds between two checks whether all has settled
    MESSAGES = {
      work: ["work", { "facts" => { "totals" => { "a" => 1 } } }], ask: ["ask", { "number" => 1 }],
      assigned: ["assigned", { "assigned" => true, "facts" => { "partitions" => 3 } }],
      event: ["event", { "name" => "hello", "level" => "info", "facts" => { "node" => 9 } }],
      cleared: ["suspects_resolved", { "suspects" => [["orders/0/1", nil]], "blamed" => false }],
      blamed: ["suspects_resolved", { "suspects" => [["orders/0/1", nil]], "blamed" => true }],
      ready: ["ready"], healthy: ["healthy"]
    }.freeze
    private_constant :LOOK, :MESSAGES

    # An error that the simulation plants in a callback of the supervisor.
    class Thrown < StandardError
      def initialize = super("thrown by the simulation")
    end

    attr_reader :kernel, :schedule, :log, :code, :nodes, :failures
    attr_reader :thrown # how many errors were planted
    attr_accessor :signals, :mold

    def initialize(schedule)
      @schedule = schedule
      @kernel = Kernel.new(Random.new(schedule.seed))
      @windows = []
      @nodes = {}.compare_by_identity
      @counts = Hash.new(0)
      @log = []
      @thrown = 0
      @loss_dice = dice(3)
      @invariants = Invariants.new(self)
      @kernel.turn_over = method(:turn_over)
      @kernel.awake = method(:beat)
      @kernel.child_ended = -> { signals&.signal("CHLD") }
    end

    def run
      before = srand(schedule.seed)
      plan
      Skep::OS.run_on(@kernel) { @code = supervise }
      @invariants.after_the_end
      self
    rescue StandardError, SystemStackError => e
      lines = e.backtrace.grep(%r{/lib/skep}).first(3).map { |line| line[%r{(?<=/lib/).*}] }
      @kernel.violate("#{e.class}: #{e.message} #{lines}")
      self
    ensure
      srand(before)
    end

    # Returns the directory of the control socket, for this process.
    def self.directory
      return @directory if @owner == Process.pid

      @owner = Process.pid
      memory = "/dev/shm" if File.writable?("/dev/shm")
      @directory = Dir.mktmpdir("skep-simulation", memory)
      at_exit { remove }
      @directory
    end

    def self.remove
      FileUtils.rm_rf(@directory) if @owner == Process.pid
    end

    def violations = @kernel.violations
    def supervisor = @supervisor

    # Methods for the actors.

    def dice(*key) = Random.new(key.reduce(schedule.seed) { |sum, one| (sum * 1_000_003) + one })
    def page = @page ||= Adapter.page(@supervisor)
    def layout = @layout ||= Adapter.layout(@supervisor)
    def beat_every = options["liveness_timeout"] / 2.5
    def options = schedule.options

    # The number of a node among those of its slot.
    def count_node(label) = @counts[label.hash_key] += 1

    # Returns the definition in the swarm file.
    def file
      tasks = Array.new(options["works"] || 1) do |work|
        { "name" => "w#{work}", "options" => work.zero? ? {} : own_options, "threads" => 1,
          "errors" => [], "facts" => { "kind" => "block", "topics" => ["t#{work}"] } }
      end
      changed({ "name" => "simulated", "options" => plain_options, "tasks" => tasks,
                "events" => options["helper"] ? %w[node_died node_ready] : [] })
    end

    # Of a second work.
    def own_options
      { "nodes" => 2, "liveness_timeout" => 2 * options["liveness_timeout"],
        "stop_timeout" => options["stop_timeout"] / 2 }
    end

    # Returns the longest liveness_timeout, and the shortest stop_timeout, of all works.
    def liveness_timeout = options["liveness_timeout"] * (options["works"] ? 2 : 1)
    def stop_timeout = options["stop_timeout"] / (options["works"] ? 2 : 1)

    # Changes the definition, for a reload.
    def changed(file)
      first = file["tasks"].first
      case windows(:new_file).last&.last
      when :name then file["name"] = "another"
      when :works then file["tasks"] += [first]
      when :threads then first["threads"] = 2
      when :order then file["tasks"] = file["tasks"].rotate
      when :options then file["options"]["kill_timeout"] = 0.7
      when :events then file["events"] = %w[node_died]
      end
      file
    end

    def slowness(what) = windows(:slow).sum { |_, _, kind, seconds| kind == what ? seconds : 0.0 }
    def report_delay = windows(:late_reports).sum { |_, _, seconds| seconds }
    def node_fork_failed? = windows(:refuse_forks).any?
    def twice? = windows(:twice).any?
    def unfit? = windows(:unfit).any?
    def mold_fault(step) = windows(:mold_fault).find { |_, _, at, _| at == step }&.last

    # Returns how often an exit is reported.
    def reports
      return 0 if windows(:no_reports).any?

      windows(:double_reports).any? ? 2 : 1
    end

    # Returns the fault of the next boot; a window has a number of them.
    def boot_fault(_node)
      window = windows(:boot_fault).find { |one| one.last.positive? } or return
      window[-1] -= 1
      window[2]
    end

    # Runs a callback of the supervisor; raises after it, or in place of it, while a window has some
    # errors left for this kind.
    def call_back(action)
      window = windows(:errors, :dropped).find do |one|
        one.last.positive? && one[2] == Adapter.kind(action)
      end
      # An error at the report of another one is printed only.
      return yield unless window && supervisor.nodes_requested? && !Adapter.reports?(supervisor)

      window[-1] -= 1
      @thrown += 1
      @invariants.planted(Adapter.kind(action))
      yield if window.first == :errors
      raise Thrown
    end

    # Returns what happens to a message of a mold or a node: :lost, :doubled, seconds by which it is
    # late, or nil.
    def loss(sender)
      kind, = windows(:lost, :late, :doubled).find { |one| one[2] == sender }
      return if kind.nil? || @loss_dice.rand(2).zero?

      kind == :late ? @loss_dice.rand * 3 : kind
    end

    def forked(node)
      @nodes[node] = true
      @invariants.forked(node)
    end

    def forget(node) = @nodes.delete(node)

    # Methods for the launcher, in place of Molds::MoldLauncher.

    def file_name = "simulated.rb"

    def start_mold(number)
      raise Errno::EAGAIN, "fork(2)" if windows(:no_molds).any?

      ours, theirs = @kernel.socket_pair
      process = @kernel.spawn(:supervisor)
      @mold = Mold.new(self, process, theirs.in_flight.receive.call(process), number:)
      theirs.close
      channel = Adapter.channel(ours)
      channel.post("load", { "mold" => number, "supervisor" => 1 })
      [process.pid, channel]
    end

    def recorded(name, facts)
      @log << [@kernel.now, name, facts]
      @invariants.recorded(name, facts)
    end

    # Returns how many spares have been given slots: they boot there beside the others.
    def spares_used = @nodes.each_key.count { |node| node.spare_at_birth? && node.slot }

    # Returns true once the faults are over.
    def calm? = @calm

    private

    def plan
      @kernel.at(Kernel::START) { nil }
      schedule.events.each { |time, *event| @kernel.at(Kernel::START + time) { apply(*event) } }
      @kernel.at(Kernel::START + schedule.seconds) { calm_down }
    end

    def supervise
      @supervisor = Adapter.supervisor(Launcher.new(self), observers: [Adapter.observer.new],
                                                           signal_handler: SignalsOf.new(self),
                                                           orphan_reaper: ReaperOf.new(self))
      # Not as an observer, which is told at the end of a turn: what is true has changed by then.
      @supervisor.events.subscribe { |event| recorded(event.name.to_s, event.facts) }
      Adapter.call_back_by(self)
      @supervisor.run
    end

    def plain_options
      names = %w[helper works]
      { **options.except(*names), "process_titles" => false,
        "control" => "#{World.directory}/s.sock" }
    end

    # Writes the nodes' beats to the page before the supervisor reads it.
    def beat
      now, frozen = @kernel.now, @kernel.frozen_seconds
      @nodes.each_key { |node| node.beat(now, frozen) }
    end

    def turn_over
      @nodes.delete_if { |node, _| !node.process.running? }
      @invariants.each_turn
    end

    def windows(*kinds)
      return [] if @windows.empty?

      @windows.select { |one, until_then| kinds.include?(one) && until_then > @kernel.now }
    end

    # Ends the faults; existing damage remains.
    def calm_down
      @calm = true
      @windows.clear
      @kernel.out_of_descriptors = @kernel.no_buffers = false
      @invariants.calm
      look
    end

    def look
      return if @invariants.stopping?
      return finish if @invariants.settled?

      @kernel.after(LOOK) { look }
    end

    def finish
      @invariants.signalled("TERM") || signals&.signal("TERM")
    end

    # Applies an event of the schedule.
    def apply(kind, *details)
      case kind
      when :signal then @invariants.signalled(*details) || signals&.signal(*details)
      when :command
        @invariants.end_waits if details.first == :resume
        Adapter.started?(@supervisor) && signals&.command(*details)
      when :end then order_end(*details)
      when :pause then @kernel.pause(details[0], all: details[1])
      when :no_descriptors, :no_buffers then lack(kind, *details)
      when /\Amold_(?!fault)/ then mold && harm_mold(kind, *details)
      when *Schedule::WINDOW_KINDS then @windows << [kind, @kernel.now + details.shift, *details]
      else node_at(details.shift)&.then { |node| harm_node(node, kind, *details) }
      end
    end

    def order_end(how)
      names = { term: %w[TERM], int: %w[INT], force: %w[QUIT], twice: %w[TERM TERM] }.fetch(how)
      names.each_with_index do |name, index|
        @kernel.after(index * 0.4) { @invariants.signalled(name) || signals&.signal(name) }
      end
    end

    def lack(kind, seconds)
      set = kind == :no_buffers ? :no_buffers= : :out_of_descriptors=
      @kernel.public_send(set, true)
      @kernel.after(seconds) { @kernel.public_send(set, false) }
    end

    # Returns the youngest process of a slot.
    def node_at(target)
      @nodes.each_key.select { |node| node.process.running? && place(node) == target }.last
    end

    def place(node)
      return 200 if node.helper?

      node.slot || (100 + (node.number % 2))
    end

    def harm_mold(kind, *details)
      process = mold.process
      case kind
      when :mold_die then process.signal(details[0]) if process.running?
      when :mold_exit then process.exit(details[0])
      when :mold_hang then mold.hang(*details)
      when :mold_stop_process then process.signal("STOP")
      when :mold_garbage then mold.send_garbage
      when :mold_ignore_release then mold.ignore_release
      when :mold_close_channel then mold.close_channel
      end
    end

    def report_unhealthy(node, times)
      times.times do |count|
        later = count * options["liveness_timeout"] * 0.2
        @kernel.after(later) { node.report_unhealthy("ill") if node.process.running? }
      end
    end

    def pause(process, seconds)
      process.signal("STOP")
      seconds && @kernel.after(seconds) { process.signal("CONT") }
    end

    def harm_node(node, kind, *details)
      process = node.process
      case kind
      when :die then process.signal(details[0])
      when :exit then node.leave(details[0])
      when :hang then node.hang(*details)
      when :stop_process then pause(process, details[0])
      when :close_channel then node.drop_channel
      when :leave_never then node.leave_never
      when :garbage then node.send_garbage
      when :unhealthy then report_unhealthy(node, details[0])
      when :healthy then node.report_healthy
      when :grow then process.pages += details[0] * 256
      when :ignore_stop then node.ignore_stop
      when :slow_stop then node.stop_in(details[0])
      when :unkillable then process.dies_after = details[0]
      when :warm then node.report_warm
      when :item then node.take_item("orders/0/1")
      when :post
        @invariants.clear_deaths if details[0] == :blamed
        node.post(*MESSAGES.fetch(details[0])) unless details[0] == :ready && !node.ready?
      when :oom
        @kernel.oom_kills += 1
        process.signal("KILL")
      end
    end
  end

  Schedule::WINDOW_KINDS = %i[boot_fault slow refuse_forks late_reports no_reports double_reports
                             mold_fault no_molds twice unfit new_file errors dropped lost
                             late doubled].freeze

  # Stands in for the classes of Molds::MoldLauncher.
  class Launcher
    def initialize(world)
      @world = world
    end

    def file = @world.file_name
    def program? = false
    def start(number, close_in_child: nil) = @world.start_mold(number)
    def warmed(slots:, reshare:) = nil
    def failed = nil
    def obstacle = nil
  end
end
