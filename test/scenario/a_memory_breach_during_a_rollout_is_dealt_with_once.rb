# frozen_string_literal: true

# Nodes exceed their memory_limit while a restart, and then a reload, replaces all nodes anyway.
# Each slot gets one successor at a time, the number of ready nodes never drops, and at the end all
# nodes are new and within their limit.
require_relative "scenario"

CODE = <<~'RUBY'
  VERSION = %<version>s
  Skep.swarm "grows", nodes: 3, memory_limit: "80M", max_restarts: 1_000 do |swarm|
    swarm.on_boot { |node| node.wait(0.5) }
    swarm.work do |node|
      node.event(:runs, version: VERSION)
      node.ready!
      until node.stopping?
        leak ||= "y" * (100 << 20) if File.exist?("#{__dir__}/grow#{VERSION}")
        node.wait(0.05)
      end
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(format(CODE, version: 1))
  swarm.await("node_ready", times: 3)
  file = ->(name) { File.join(swarm.directory, name) }
  ended = ->(name) { swarm.await(["#{name}_finished", "#{name}_failed"])["event"] }
  # Returns the pids of the nodes, once all are ready.
  pids = lambda do
    nodes = []
    swarm.follow("all nodes are ready") do
      nodes = swarm.status("grows")["nodes"]
      nodes.all? { |node| node["state"] == "ready" }
    end
    nodes.map { |node| node["pid"] }
  end

  old = pids.call
  swarm.signal(:USR2)
  swarm.await("node_replacing")
  File.write(file["grow1"], "")
  swarm.await("node_over_limit")
  File.delete(file["grow1"])
  restarted = ended["restart"]
  must("finish the restart, not #{restarted}") { restarted == "restart_finished" }
  must("have replaced all nodes") { (pids.call & old).empty? }

  File.write(file["swarm.rb"], format(CODE, version: 2))
  File.write(file["grow1"], "")
  swarm.await("node_over_limit")
  swarm.signal(:HUP)
  reloaded = ended["reload"]
  must("finish the reload, not #{reloaded}") { reloaded == "reload_finished" }
  versions = swarm.events.select { |one| one["event"] == "runs" }
                  .to_h { |one| one.values_at("pid", "version") }
  swarm.follow("all nodes run version 2") do
    pids.call.all? { |pid| versions[pid] == 2 }
  end
  swarm.follow("no node is over its limit any more, and none is left over") do
    started_by(swarm).size == 6 # with the supervisor, the mold and the process forked ahead
  end

  twice = swarm.events.select { |one| one["event"] == "node_replaced" }
               .map { |one| one["pid"] }.tally.select { |_, count| count > 1 }
  must("report no replacement twice: #{twice}") { twice.empty? }
  errors = swarm.events.select { |one| one["event"] == "supervisor_error" }
  must("have no error of its own: #{errors.first}") { errors.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  least = swarm.least_ready(3)
  must("never have fewer nodes ready than 3, not #{least}") { least == 3 }
end
