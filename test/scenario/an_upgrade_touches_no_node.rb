# frozen_string_literal: true

# `skep upgrade`: the supervisor goes on as another program, the newer skep that asks for it, with
# the same pid, name, socket, molds, nodes, spares, helper, and all that was known of them. Twenty
# times over nothing of it changes, and no descriptor is left. What a supervisor does it does after
# that, too: deaths are answered, it restarts, reloads, stops; and its death ends all.
require_relative "scenario"

UPGRADED = <<~'RUBY'
  Skep.swarm "upgraded", nodes: 3, spares: 1, max_restarts: 1_000 do |swarm|
    swarm.on(:node_died) { |facts| File.write("#{__dir__}/told", facts["pid"].to_s) }
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

# A copy of skep that says it is of another version.
def newer(directory, version)
  root = File.expand_path("../..", __dir__)
  Dir.mkdir(copy = File.join(directory, version))
  FileUtils.cp_r(%w[exe lib].map { |part| File.join(root, part) }, copy)
  File.write("#{copy}/lib/skep/version.rb", "module Skep\n  VERSION = #{version.inspect}\nend\n")
  "#{copy}/exe/skep"
end

def upgrade(swarm, skep)
  said, status = Open3.capture2e({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby, skep,
                                 "upgrade")
  status.success? ? said : raise(Scenario::Failed, "it must upgrade: #{said}; #{swarm.account}")
end

# What must stay, of each node by its id.
def kept(swarm)
  swarm.status("upgraded")["nodes"].to_h do |node|
    [node["id"], node.values_at("pid", "mold", "state", "restarts", "deaths", "last_exit")]
  end
end

def done(swarm) = swarm.status("upgraded")["nodes"].sum { |node| node["work"]["done"] }
def descriptors(swarm) = Dir.children("/proc/#{swarm.pid}/fd").size
def family(swarm) = File.read("/proc/#{swarm.pid}/task/#{swarm.pid}/children").split.map(&:to_i)

def kill_one(swarm, slot)
  victim = swarm.status("upgraded")["nodes"][slot]["pid"]
  swarm.kill(victim)
  must("answer a death; #{swarm.account}") do
    swarm.await(GONE) { |event| event["pid"] == victim } && complete(swarm)
  end
  told = "#{swarm.directory}/told"
  swarm.follow("the helper is told") { File.exist?(told) && File.read(told) == victim.to_s }
end

def complete(swarm)
  swarm.follow("all are back") do
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
  before, molds, up = kept(swarm), family(swarm), swarm.status("upgraded")["uptime"]

  said = upgrade(swarm, new)
  must("say what it is now: #{said}") do
    said == "pid #{swarm.pid}: skep 99.9 (ruby #{RUBY_VERSION})\n"
  end
  told = swarm.await("upgrade_finished")
  must("tell it: #{told}") { told.values_at("skep", "from") == ["99.9", Skep::VERSION] }
  status = swarm.status("upgraded")
  must("be the new one: #{status}") { status.values_at("pid", "skep") == [swarm.pid, "99.9"] }
  must("be as old as before") { status["uptime"] >= up }
  held = descriptors(swarm)
  19.times { upgrade(swarm, new) }
  must("know its nodes as before: #{before} #{kept(swarm)}") { kept(swarm) == before }
  must("have the same children") { family(swarm) == molds }
  swarm.follow("no descriptor is left: #{held}") { descriptors(swarm) == held }
  worked = done(swarm)
  must("let them work on") { swarm.follow("they do") { done(swarm) > worked } || true }

  names = []
  swarm.follow("those who follow are told") do
    names.concat(feed.read.map { |event| event["event"] }).count("upgrade_finished") == 20
  end
  must("keep those who follow: #{names.tally}") do
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
  must("reload: from the new skep") { swarm.skep("reload").nil? && complete(swarm) }
  swarm.follow("the old mold has gone: before there is no upgrade") { family(swarm).one? }
  upgrade(swarm, new)
  kill_one(swarm, 2)
  must("scale") { swarm.skep("scale", "2").nil? }
  swarm.follow("one has gone") { swarm.status("upgraded")["nodes"].size == 3 }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }

  last = run_swarm(UPGRADED)
  last.await("node_ready", times: 4)
  last.await("spare_ready")
  upgrade(last, new)
  molds = family(last)
  nodes = last.status("upgraded")["nodes"].map { |node| node["pid"] }
  last.signal(:KILL)
  gone([*molds, *nodes])
end
