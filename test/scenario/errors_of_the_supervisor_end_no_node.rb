# frozen_string_literal: true

# A bug in the supervisor itself, in whatever callback, is reported once and ends no node: in a
# timer, a pidfd's watch, a signal handler, a message, a command, an observer and an observer's own
# timer. Only a storm of errors ends the swarm: its nodes stop in order, and the exit code is 1.
require "socket"
require_relative "scenario"

# Plants an error in the supervisor, which loads this before skep runs: `Plant.error(name)` raises
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
    Skep::Swarm::Nodes::NodeExits => [:lost, "pidfd"],
    Skep::Swarm::Supervisor::SignalHandler => [:handle, "signal"],
    Skep::Swarm::Nodes::NodeMessages => [:handle_report, "message"],
    Skep::Swarm::Supervisor => [:snapshot, "command"],
    Skep::Control::Server => [:event, "observer"],
    Skep::Systemd::Watchdog => [:ping, "watchdog"]
  }.each do |owner, (method, name)|
    owner.prepend(Module.new do
      define_method(method) do |*arguments, **options, &block|
        super(*arguments, **options, &block).tap { Plant.error(name) }
      end
    end)
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

SOURCE = <<~'RUBY'
  Skep.swarm "planted", nodes: 2, liveness_timeout: 2, stop_timeout: 10 do |swarm|
    swarm.work do |node|
      node.ready!
      until node.stopping?
        node.wait(0.1)
        node.beat
        node.event(:sent) if File.exist?("#{__dir__}/send#{node.id}")
      end
      File.write("#{__dir__}/stopped#{node.id}", "")
    end
  end
RUBY

Scenario.play do
  library = File.expand_path("../../lib", __dir__)
  File.write("#{directory}/plant.rb", "$LOAD_PATH.unshift(#{library.inspect})\n#{PLANT}")
  run = lambda do |**env|
    run_swarm(SOURCE, before: "require \"#{directory}/plant.rb\"", env:)
  end
  plant = ->(name) { File.write("#{directory}/#{name}", "") }
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

  swarm = run.call("NOTIFY_SOCKET" => "#{directory}/notify", "WATCHDOG_USEC" => "500000")
  first = swarm.await("node_ready", times: 2).to_h { |one| one.values_at("node", "pid") }

  reported = lambda do |name, action|
    error = swarm.await("supervisor_error") { |one| one["error"].end_with?("planted in #{name}") }
    must("report the error in #{name}: #{error}") do
      error["action"] == action && error["at"].match?(/plant\.rb:\d+\z/) &&
        error["count"] == errors.call(swarm).size && error["backtrace"].any?
    end
  end

  plant.call("timer")
  reported.call("timer", "timer")
  swarm.signal(:TTIN) # a signal that ends nothing
  swarm.await("node_backtraces", times: 2)
  plant.call("signal")
  swarm.signal(:TTIN)
  reported.call("signal", "signal TTIN")
  plant.call("message")
  File.write("#{swarm.directory}/send0", "")
  reported.call("message", "event")
  File.delete("#{swarm.directory}/send0")
  plant.call("command")
  must("answer a command that fails") do
    swarm.client("planted").call("status")["error"].to_s.include?("RuntimeError")
  end
  reported.call("command", "status")
  plant.call("observer")
  swarm.signal(:TTIN)
  reported.call("observer", "observer Skep::Control::Server")
  plant.call("watchdog")
  reported.call("watchdog", "timer")
  must("ping systemd's watchdog again") { 3.times.all? { pinged.call } }

  # The process that this ends is killed by the scenario.
  plant.call("pidfd")
  swarm.kill(first[0])
  reported.call("pidfd", "descriptor")
  swarm.await("node_died") { |one| one["pid"] == first[0] }
  swarm.await("node_ready") { |one| one["node"] == 0 }

  must("find a hung node still") do
    swarm.kill(first[1], :STOP)
    swarm.await("node_hung")["pid"] == first[1]
  end
  swarm.await("node_ready") { |one| one["node"] == 1 }
  ended = swarm.events.select { |one| GONE.include?(one["event"]) }
  must("end no node: #{ended}") { ended.map { |one| one["pid"] }.sort == first.values.sort }
  must("report each error once: #{errors.call(swarm)}") { errors.call(swarm).size == 7 }
  counted = swarm.status("planted")["events"]["supervisor_error"]
  must("count each error, not #{counted}") { counted == 7 }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  systemd.close

  # A storm: nodes stop in order.
  swarm = run.call
  swarm.await("node_ready", times: 2)
  plant.call("storm")
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
    ended.map { |one| one["exit_status"] } == [0, 0] &&
      Dir.glob("#{swarm.directory}/stopped*").size == 2
  end
  must("fill no log: #{errors.call(swarm).size}") { errors.call(swarm).size == 10 }
end
