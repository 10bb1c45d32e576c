# frozen_string_literal: true

# During upgrades nodes, spares, helper and mold are killed, and signals are sent, at random
# moments. skep reports each death once and replaces the process; it handles each signal once, as
# usual. ROUNDS=n sets the number of rounds, SEED=n repeats the same moments.
require_relative "scenario"

ROUNDS = Integer(ENV.fetch("ROUNDS", "10"))
SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000))
LONGEST = 1.2 # seconds, within which most upgrades are over

KEPT = <<~'RUBY'
  Skep.swarm "kept", nodes: 3, spares: 1, max_restarts: 1_000_000 do |swarm|
    swarm.on(:node_ready) { |_| nil }
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY
BUSY = /booting|starts or stops|no mold|forked or replaced|way out|being replaced/
SIGNALS = { "HUP" => "reload", "USR2" => "restart" }.freeze

# An upgrade in progress, started by a separate command.
class Upgrading
  def initialize(swarm)
    @io = IO.popen({ "SKEP_RUN_DIR" => swarm.directory },
                   [RbConfig.ruby, swarm.class::SKEP, "upgrade", "kept"], err: %i[child out])
  end

  # Returns nil if the upgrade succeeded, else the command's output.
  def wait
    output = @io.read
    @io.close
    output unless $?.success?
  end
end

def complete(swarm)
  swarm.follow("all nodes are back, seed #{SEED}") do
    states = swarm.status("kept")["nodes"].map { |node| node["state"] }.tally
    states == { "ready" => 3, "spare" => 1 }
  end
end

def named(swarm, *names) = swarm.events.select { |event| names.include?(event["event"]) }

def begin_swarm
  run_swarm(KEPT).tap do |swarm|
    swarm.await("node_ready", times: 4)
    swarm.await("spare_ready")
  end
end

def mold(swarm) = named(swarm, "mold_ready").last["pid"]

def helper(swarm)
  named(swarm, "node_forked").reverse.find { |event| event["node"] == "helper" }["pid"]
end

# Returns the pids of one or two processes to kill.
def victims(swarm, random)
  nodes = swarm.status("kept")["nodes"].map { |node| node["pid"] }
  case random.rand(6)
  when 0 then [mold(swarm)]
  when 1 then [helper(swarm)]
  else nodes.sample(random.rand(1..2), random:)
  end
end

def follow_replacements(swarm, pids)
  swarm.follow("every death is reported, seed #{SEED}") do
    reported = named(swarm, *GONE, "mold_died").map { |event| event["pid"] }
    (pids - reported).empty?
  end
  swarm.follow("there is a mold") do
    named(swarm, "mold_ready").size > named(swarm, "mold_died").size
  end
  swarm.follow("there is a helper") { File.exist?("/proc/#{helper(swarm)}") }
end

def kill_around(swarm, random, killed)
  complete(swarm)
  pids = victims(swarm, random)
  upgrading = Upgrading.new(swarm)
  swarm.follow_for(random.rand * LONGEST)
  pids.each { |pid| swarm.kill(pid) }
  killed.concat(pids)
  why = upgrading.wait
  follow_replacements(swarm, pids)
  why
end

Scenario.play do
  skip "it takes the C extension" unless Skep::OS::SignalHandoff.supported?

  random = Random.new(SEED)
  swarm = begin_swarm
  killed = []
  refused = Array.new(ROUNDS) { kill_around(swarm, random, killed) }.compact
  complete(swarm)
  died = named(swarm, *GONE).map { |event| event["pid"] }
  must("report each death once, seed #{SEED}: #{died.tally.select { |_, times| times > 1 }}") do
    died.uniq.size == died.size
  end
  must("lose no other process, seed #{SEED}: #{died - killed}") { (died - killed).empty? }
  must("refuse only while a process is being replaced: #{refused}") { refused.all?(BUSY) }
  swarm.follow("the other upgrades have finished: #{refused}") do
    named(swarm, "upgrade_finished").size == ROUNDS - refused.size
  end
  puts "#{killed.size} kills around #{ROUNDS} upgrades, of which #{refused.size} were refused"

  [*SIGNALS].cycle.first(ROUNDS / 4).each do |signal, change|
    complete(swarm)
    upgrading = Upgrading.new(swarm)
    swarm.follow_for(random.rand * LONGEST)
    swarm.signal(signal)
    swarm.await("#{change}_finished")
    why = upgrading.wait
    must("refuse only during the change: #{why}") do
      why.nil? || why.match?(Regexp.union(change, BUSY))
    end
  end
  SIGNALS.each_value do |change|
    must("perform each #{change} once") do
      named(swarm, "#{change}_started").size == named(swarm, "#{change}_finished").size
    end
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }

  (ROUNDS / 4).times do
    swarm = begin_swarm
    upgrading = Upgrading.new(swarm)
    swarm.follow_for(random.rand * LONGEST)
    status = swarm.stop
    upgrading.wait
    stops = named(swarm, "swarm_stopping").size
    must("stop once, with 0, seed #{SEED}: #{status.inspect}, #{stops}; #{swarm.account}") do
      status.exitstatus == 0 && stops == 1
    end
    await_exit(swarm.nodes)
  end
end
