# frozen_string_literal: true

# A bug in the supervisor itself, in whatever callback, is reported once and ends no node: in a
# timer, a pidfd's watch, a signal handler, a node's and a mold's message, a command, an observer
# and an observer's own timer. So is an error in a user's `on` block. Each is planted ROUNDS times
# under load, in turn before and after what the callback does. Only a storm of errors ends the
# swarm: its nodes stop in order, and the exit code is 1.
require "socket"
require_relative "scenario"

ROUNDS = Integer(ENV.fetch("ROUNDS", "20"))

# Plants errors in the supervisor, which loads this before skep runs: `Plant.error(name)` raises
# once for each file of that name.
PLANT = <<~'RUBY'
  require "skep/cli"
  require "skep/systemd"

  module Plant
    DIRECTORY = File.dirname(File.expand_path(__FILE__))

    def self.error(name)
      File.delete("#{DIRECTORY}/#{name}")
    rescue Errno::ENOENT
      nil
    else
      raise "planted in #{name}"
    end
  end

  {
    Skep::Swarm::Health::LivenessMonitor => [:check, "timer"],
    Skep::Swarm::Nodes::NodeExits => [:ended, "pidfd"],
    Skep::Swarm::Supervisor::SignalHandler => [:handle, "signal"],
    Skep::Swarm::Nodes::NodeMessages => [:handle_report, "message"],
    Skep::Swarm::Molds::MoldPool => [:handle, "mold"],
    Skep::Swarm::Supervisor => [:snapshot, "command"],
    Skep::Control::Server => [:event, "observer"],
    Skep::Systemd::Watchdog => [:ping, "watchdog"]
  }.each do |owner, (method, name)|
    owner.instance_method(method) # raises if there is none any more
    owner.prepend(Module.new do
      define_method(method) do |*arguments, **options, &block|
        # The report of a block's error must not be lost.
        next super(*arguments, **options, &block) if name == "message" && arguments.first.helper?

        Plant.error("#{name}_before")
        super(*arguments, **options, &block).tap { Plant.error("#{name}_after") }
      end
    end)
  end

  # More than ten errors within this time are a storm: less than a minute, for a shorter scenario.
  Skep::Swarm::Runtime::ErrorGuard.class_eval do
    remove_const(:WINDOW)
    const_set(:WINDOW, 1.0)
  end

  # A timer that fails each time that it is due.
  Skep::Swarm::Supervisor.prepend(Module.new do
    def backtraces
      super
      storm if File.exist?("#{Plant::DIRECTORY}/storm")
    end

    def storm
      loop.after(0.01) do
        storm
        raise "planted in a storm"
      end
    end
  end)
RUBY

# Node 1 is the one that is killed. Node 2 sends about a hundred events a second.
SOURCE = <<~'RUBY'
  Skep.swarm "planted", nodes: 3, liveness_timeout: 2, stop_timeout: 10, max_restarts: 1_000 do |swarm|
    swarm.on(:node_died) do |_facts|
      File.delete("#{__dir__}/block")
    rescue Errno::ENOENT
      nil
    else
      raise "planted in a block"
    end
    swarm.work do |node|
      node.ready!
      until node.stopping?
        node.wait(node.id == 2 ? 0.01 : 0.1)
        node.beat
        node.event(:sent) if node.id == 2
      end
      File.write("#{__dir__}/stopped#{node.id}", "")
    end
  end
RUBY

Scenario.play do
  load_path = File.expand_path("../../load_path", __dir__)
  File.write("#{directory}/plant.rb", "require #{load_path.inspect}\n#{PLANT}")
  run = lambda do |**env|
    run_swarm(SOURCE, before: "require \"#{directory}/plant.rb\"", env:)
  end
  errors = ->(swarm) { swarm.events.select { |one| one["event"] == "supervisor_error" } }

  systemd = Socket.new(:UNIX, :DGRAM)
  systemd.bind(Addrinfo.unix("#{directory}/notify"))
  # Returns true once another WATCHDOG=1 has come.
  pinged = lambda do
    deadline = Skep::OS.now + Patience.of(Scenario::SECONDS)
    loop do
      return false unless systemd.wait_readable([deadline - Skep::OS.now, 0].max)
      return true if systemd.recv(4_096).include?("WATCHDOG=1")
    end
  end
  drained = -> { systemd.recv(4_096) while systemd.wait_readable(0) }

  swarm = run.call("NOTIFY_SOCKET" => "#{directory}/notify", "WATCHDOG_USEC" => "500000")
  first = swarm.await("node_ready", times: 4).to_h { |one| one.values_at("node", "pid") }
  enough, finish = IO.pipe
  asks = Thread.new do # part of the load
    swarm.client("planted").call("status") until enough.wait_readable(0.05)
  rescue Skep::Error # the swarm has ended: the scenario says why
    nil
  end

  actions = { "timer" => "timer", "watchdog" => "timer", "pidfd" => "descriptor",
              "signal" => "signal TTIN", "message" => "event",
              "mold" => /\A(?:exited|forked|pong)\z/,
              "command" => "status", "observer" => "observer Skep::Control::Server" }
  actions.delete("pidfd") unless Skep::OS.native? # its pidfds aren't watched
  # A mold's report that is lost can't be told from one that never came, and these timers are set
  # anew by the methods that they call.
  afterwards = %w[mold timer watchdog]
  killed = []
  victim = first[1]
  ROUNDS.times do |round|
    drained.call
    step = round.even? ? "after" : "before"
    planted = actions.to_h do |name, _|
      [name, "#{name}_#{afterwards.include?(name) ? "after" : step}"]
    end
    observer = planted.delete("observer")
    planted.each_value { |name| File.write("#{directory}/#{name}", "") }
    File.write("#{swarm.directory}/block", "")
    swarm.signal(:TTIN) # a signal that ends nothing
    swarm.kill(victim)
    killed << victim
    reported = lambda do |name, file|
      error = swarm.await("supervisor_error") { |one| one["error"].end_with?(" in #{file}") }
      must("report the error in #{name}: #{error}") do
        actions[name] === error["action"] && error["at"].match?(/plant\.rb:\d+\z/) &&
          error["backtrace"].any?
      end
    end
    planted.each { |name, file| reported.call(name, file) }
    # An observer's error at the report of another error would be printed only.
    last = errors.call(swarm).last["mono"]
    swarm.await("sent") { |one| one["mono"] > last }
    File.write("#{directory}/#{observer}", "")
    reported.call("observer", observer)
    hook = swarm.await("hook_failed")
    must("report the block's error: #{hook}") do
      hook.values_at("hook", "error") == ["on(node_died)", "RuntimeError: planted in a block"]
    end
    swarm.await(GONE) { |one| one["pid"] == victim }
    victim = swarm.await("node_ready") { |one| one["node"] == 1 }["pid"]
    must("ping systemd's watchdog in round #{round}") { pinged.call }
    swarm.follow_for(1.2) # no storm
  end

  must("find a hung node still") do
    swarm.kill(first[0], :STOP)
    swarm.await("node_hung")["pid"] == first[0]
  end
  swarm.await("node_ready") { |one| one["node"].zero? }
  finish.close
  asks.join
  enough.close
  swarm.await(GONE) { |one| one["pid"] == first[0] }
  ended = swarm.events.select { |one| GONE.include?(one["event"]) }.map { |one| one["pid"] }
  must("end no node: #{ended}") { ended.sort == [*killed, first[0]].sort }
  counts = errors.call(swarm).map { |one| one["error"][/planted in (\w+?)_/, 1] }.tally
  must("report each error once: #{counts}") { counts == actions.transform_values { ROUNDS } }
  blocks = swarm.events.count { |one| one["event"] == "hook_failed" }
  must("report each block's error once: #{blocks}") { blocks == ROUNDS }
  counted = swarm.status("planted")["events"]["supervisor_error"]
  must("count each error, not #{counted}") { counted == ROUNDS * actions.size }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  systemd.close

  # A storm: nodes stop in order.
  swarm = run.call
  swarm.await("node_ready", times: 4)
  File.write("#{directory}/storm", "")
  swarm.signal(:TTIN)
  stopping = swarm.await("swarm_stopping")
  must("say why it stops: #{stopping}") { stopping["reason"] == "supervisor_errors" }
  status = swarm.wait
  must("end with 1, not #{status}") { status.exitstatus == 1 }
  must("end with a sentence: #{swarm.stderr}") do
    swarm.stderr.lines.size == 1 && swarm.stderr.include?("more than 10 errors within a minute")
  end
  ended = swarm.events.select { |one| GONE.include?(one["event"]) }
  must("let each node stop by itself: #{ended}") do
    ended.map { |one| one["exit_status"] } == [0] * 4 &&
      Dir.glob("#{swarm.directory}/stopped*").size == 3
  end
  must("fill no log: #{errors.call(swarm).size}") { errors.call(swarm).size == 10 }
end
