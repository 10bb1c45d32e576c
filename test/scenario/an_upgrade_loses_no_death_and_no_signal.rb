# frozen_string_literal: true

# While the supervisor becomes another program nodes, spares, helper and mold are killed, and
# signals come, at random moments: each death is told and answered, once; each signal does what it
# does at any other time, once. (ROUNDS=n for more, SEED=n for the same moments.)
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
BUSY = /booting|comes or goes|no mold|forked or replaced|way out|being replaced/
SIGNALS = { "HUP" => "reload", "USR2" => "restart" }.freeze

# An upgrade under way, by a command of its own.
class Upgrading
  def initialize(swarm)
    @io = IO.popen({ "SKEP_RUN_DIR" => swarm.directory },
                   [RbConfig.ruby, swarm.class::SKEP, "upgrade", "kept"], err: %i[child out])
  end

  # nil if it has come to that, else what was said.
  def wait
    said = @io.read
    @io.close
    said unless $?.success?
  end
end

def complete(swarm)
  swarm.follow("all are back, seed #{SEED}") do
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

# One or two of them.
def victims(swarm, random)
  nodes = swarm.status("kept")["nodes"].map { |node| node["pid"] }
  case random.rand(6)
  when 0 then [mold(swarm)]
  when 1 then [helper(swarm)]
  else nodes.sample(random.rand(1..2), random:)
  end
end

def answered(swarm, pids)
  swarm.follow("every death is told, seed #{SEED}") do
    told = named(swarm, *GONE, "mold_died").map { |event| event["pid"] }
    (pids - told).empty?
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
  answered(swarm, pids)
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
  must("tell each death once, seed #{SEED}: #{died.tally.select { |_, times| times > 1 }}") do
    died.uniq.size == died.size
  end
  must("lose nobody else, seed #{SEED}: #{died - killed}") { (died - killed).empty? }
  must("refuse for that alone: #{refused}") { refused.all?(BUSY) }
  swarm.follow("have been upgraded: #{refused}") do
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
    must("refuse for that alone: #{why}") { why.nil? || why.match?(Regexp.union(change, BUSY)) }
  end
  SIGNALS.each_value do |change|
    must("obey once each: #{change}") do
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
    gone(swarm.nodes)
  end
end
