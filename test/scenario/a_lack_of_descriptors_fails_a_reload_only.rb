# frozen_string_literal: true

# The supervisor has no descriptor left: a reload at that time fails with the cause, as no mold can
# be started. A restart waits, and all nodes continue. Once descriptors are free again, the restart
# goes on, and a reload replaces all nodes.
require_relative "scenario"

CODE = <<~'RUBY'
  VERSION = %<version>s
  Skep.swarm "code", nodes: 2, max_restarts: 1_000 do |swarm|
    swarm.work do |node|
      node.event(:runs, version: VERSION)
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(format(CODE, version: 1))
  old = swarm.await("node_ready", times: 2).map { |one| one["pid"] }
  swarm.status("code") # All that it opens once is open.
  files = -> { Dir.children("/proc/#{swarm.pid}/fd").size }
  before = files.call

  client = Skep::Control::Client.new(File.join(swarm.directory, "code.sock"))
  scale = client.call_async("scale", nodes: 3)
  swarm.await("swarm_scaled")
  scale.close
  old += [swarm.await("node_ready")["pid"]]
  File.write(File.join(swarm.directory, "swarm.rb"), format(CODE, version: 2))
  usual = limit(swarm.pid, "nofile", 3)
  swarm.signal(:HUP)
  failed = swarm.await("reload_failed")
  must("name the cause: #{failed}") { failed["error"].include?("open files") }
  swarm.signal(:USR2)
  swarm.await("restart_started")
  swarm.await("fork_failed")
  swarm.await("fork_failed")
  must("end no node") { swarm.events.none? { |one| GONE.include?(one["event"]) } }

  limit(swarm.pid, "nofile", usual)
  restarted = swarm.await(%w[restart_failed restart_finished])
  must("finish the restart: #{restarted}") { restarted["event"] == "restart_finished" }
  must("replace each node once") do
    gone = swarm.events.select { |one| GONE.include?(one["event"]) }.map { |one| one["pid"] }
    gone.sort == old.sort
  end
  swarm.signal(:HUP)
  swarm.await("reload_finished")
  new = swarm.await("runs", times: 3) { |one| one["version"] == 2 }.map { |one| one["pid"] }
  swarm.follow("the new nodes are ready") do
    nodes = swarm.status("code")["nodes"].map { |node| [node["pid"], node["state"]] }
    nodes.sort == new.map { |pid| [pid, "ready"] }.sort
  end
  # One more node has two descriptors.
  swarm.follow(-> { "no descriptor is left open: #{before} #{files.call}" }) do
    files.call <= before + 2
  end
  bugs = swarm.events.select { |one| one["event"] == "supervisor_error" }
  must("have no error of its own: #{bugs.first}") { bugs.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
