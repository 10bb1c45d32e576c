# frozen_string_literal: true

# `skep upgrade`: the supervisor continues as a newer skep, with the same pid, name, socket, molds,
# nodes, spares, helper and records of them. Twenty upgrades change none of that and leak no
# descriptor. Afterwards the supervisor still replaces dead nodes, restarts, reloads and stops. Its
# death ends all processes.
require_relative "scenario"

UPGRADED = <<~'RUBY'
  Skep.swarm "upgraded", nodes: 3, spares: 1, max_restarts: 1_000 do |swarm|
    swarm.on(:node_died) { |facts| File.write("#{__dir__}/reported", facts["pid"].to_s) }
    swarm.work do |node|
      node.ready!
      turns = 0
      until node.stopping?
        node.in_flight("turn #{turns += 1}")
        node.processed
        node.wait(0.005)
      end
    end
  end
RUBY

# Returns the program of a copy of skep with another version.
def newer(directory, version)
  root = File.expand_path("../..", __dir__)
  Dir.mkdir(copy = File.join(directory, version))
  FileUtils.cp_r(%w[exe lib].map { |part| File.join(root, part) }, copy)
  File.write("#{copy}/lib/skep/version.rb", "module Skep\n  VERSION = #{version.inspect}\nend\n")
  "#{copy}/exe/skep"
end

def upgrade(swarm, skep)
  output, status = Open3.capture2e({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby, skep,
                                   "upgrade")
  status.success? ? output : raise(Scenario::Failed, "it must upgrade: #{output}; #{swarm.account}")
end

# Returns the facts of each node, by its id, that an upgrade must keep.
def kept(swarm)
  swarm.status("upgraded")["nodes"].to_h do |node|
    [node["id"], node.values_at("pid", "mold", "state", "restarts", "deaths", "last_exit")]
  end
end

def done(swarm) = swarm.status("upgraded")["nodes"].sum { |node| node["work"]["done"] }
def descriptors(swarm) = Dir.children("/proc/#{swarm.pid}/fd").size
def children(swarm) = File.read("/proc/#{swarm.pid}/task/#{swarm.pid}/children").split.map(&:to_i)

def kill_one(swarm, slot)
  victim = swarm.status("upgraded")["nodes"][slot]["pid"]
  swarm.kill(victim)
  must("replace a killed node; #{swarm.account}") do
    swarm.await(GONE) { |event| event["pid"] == victim } && complete(swarm)
  end
  report = "#{swarm.directory}/reported"
  swarm.follow("the helper gets node_died") do
    File.exist?(report) && File.read(report) == victim.to_s
  end
end

def complete(swarm)
  swarm.follow("all nodes are back") do
    states = swarm.status("upgraded")["nodes"].map { |node| node["state"] }.tally
    states["ready"] == 3 && states["spare"] == 1
  end
  true
end

Scenario.play do
  skip "it takes the C extension" unless Skep::OS::SignalHandoff.supported?

  new = newer(directory, "99.9")
  swarm = run_swarm(UPGRADED)
  swarm.await("node_ready", times: 4)
  swarm.await("spare_ready")
  kill_one(swarm, 1)
  feed = swarm.follow_socket("upgraded")
  before, molds, up = kept(swarm), children(swarm), swarm.status("upgraded")["uptime"]

  output = upgrade(swarm, new)
  must("print the new version: #{output}") do
    output == "pid #{swarm.pid}: skep 99.9 (ruby #{RUBY_VERSION})\n"
  end
  finished = swarm.await("upgrade_finished")
  must("publish both versions: #{finished}") do
    finished.values_at("skep", "from") == ["99.9", Skep::VERSION]
  end
  status = swarm.status("upgraded")
  must("show the new version in the status: #{status}") do
    status.values_at("pid", "skep") == [swarm.pid, "99.9"]
  end
  must("keep its uptime") { status["uptime"] >= up }
  usual = descriptors(swarm)
  19.times { upgrade(swarm, new) }
  must("keep the facts of its nodes: #{before} #{kept(swarm)}") { kept(swarm) == before }
  must("keep the same children") { children(swarm) == molds }
  swarm.follow("no descriptor leaks: #{usual}") { descriptors(swarm) == usual }
  worked = done(swarm)
  must("let nodes work on") { swarm.follow("work continues") { done(swarm) > worked } || true }

  names = []
  swarm.follow("the event stream has all upgrades") do
    names.concat(feed.read.map { |event| event["event"] }).count("upgrade_finished") == 20
  end
  must("keep the event stream open: #{names.tally}") do
    feed.lost.zero? && !feed.ended?
  end
  feed.close
  must("lose no node") { names.none? { |name| [*GONE, "node_forked", "mold_died"].include?(name) } }

  second = run_swarm(UPGRADED, in_directory: swarm.directory)
  must("keep its name; #{second.stderr}") do
    second.wait.exitstatus == 78 && second.stderr.include?("(pid #{swarm.pid})")
  end

  kill_one(swarm, 0)
  must("restart") { swarm.skep("restart").nil? && complete(swarm) }
  must("reload with the new skep") { swarm.skep("reload").nil? && complete(swarm) }
  swarm.follow("the old mold has exited: no upgrade starts before") { children(swarm).one? }
  upgrade(swarm, new)
  kill_one(swarm, 2)
  must("scale") { swarm.skep("scale", "2").nil? }
  swarm.follow("one node has exited") { swarm.status("upgraded")["nodes"].size == 3 }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }

  last = run_swarm(UPGRADED)
  last.await("node_ready", times: 4)
  last.await("spare_ready")
  upgrade(last, new)
  molds = children(last)
  nodes = last.status("upgraded")["nodes"].map { |node| node["pid"] }
  last.signal(:KILL)
  await_exit([*molds, *nodes])
end
