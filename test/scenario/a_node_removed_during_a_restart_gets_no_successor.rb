# frozen_string_literal: true

# `skep scale` removes a slot while `skep restart` or `skep reload` replaces nodes one by one: the
# removed node finishes its work and ends, no successor is forked for it, and the restart continues
# with the other nodes.
require_relative "scenario"

# A node waits for its file `boot-ID` before it is ready, and for `held-ID` before it exits, if
# these exist.
SOURCE = <<~RUBY
  Skep.swarm "scaled", nodes: 3 do |swarm|
    swarm.work do |node|
      File.read("\#{__dir__}/boot-\#{node.id}") if File.exist?("\#{__dir__}/boot-\#{node.id}")
      node.in_flight("item") if node.id < 2 && File.exist?("\#{__dir__}/busy")
      node.ready!
      node.wait until node.stopping?
      held = "\#{__dir__}/held-\#{node.id}"
      File.read(held) if File.exist?(held)
    end
  end
RUBY

# Returns the pids of the swarm's node processes, which are found by their titles.
def node_processes(swarm)
  started_by(swarm).select do |pid|
    command_line(pid).match?(/\Askep \S+ node /)
  rescue Errno::ENOENT, Errno::ESRCH # it has ended
    false
  end
end

# Makes a node wait; returns the named pipe that releases it.
def hold(swarm, id, at = "held")
  path = "#{swarm.directory}/#{at}-#{id}"
  File.mkfifo(path)
  path
end

# Lets the node continue; its successors don't wait.
def release(path)
  writer = File.open(path, File::WRONLY) # once the node reads
  File.unlink(path)
  writer.close
end

Scenario.play do
  %w[restart reload].each do |change|
    swarm = run_swarm(SOURCE)
    swarm.await("node_ready", times: 3)
    first, last = hold(swarm, 0), hold(swarm, 2)
    asked = Thread.new { swarm.skep(change, "scaled") }

    swarm.await("node_ready") { |event| event["node"].zero? } # the first one's successor
    must("scale down") { swarm.skep("scale", "2").nil? }
    release(first)
    swarm.await("node_replaced") { |event| event["node"] == 1 }
    swarm.await("#{change}_finished")
    must("finish the #{change}: #{asked.value}") { asked.value.nil? }

    must("fork no successor for the removed node") do
      swarm.events.none? { |event| event["event"] == "node_replacing" && event["node"] == 2 }
    end
    release(last)
    died = swarm.await(GONE) { |event| event["node"] == 2 }
    must("let it finish: #{died}") { died.values_at("exit_status", "reason") == [0, "scale"] }
    listed = swarm.status("scaled")["nodes"].map { |node| node["pid"] }
    must("list every node process: #{listed}, #{node_processes(swarm)}") do
      listed.sort == node_processes(swarm).sort
    end
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end

  # The removed node is the canary of a reload.
  swarm = run_swarm(SOURCE, prepare: ->(directory) { File.write("#{directory}/busy", "") })
  swarm.await("node_ready", times: 3)
  booting = hold(swarm, 2, "boot")
  asked = Thread.new { swarm.skep("reload", "scaled") }
  swarm.await("node_forked") { |event| event.values_at("node", "mold") == [2, 1] }
  must("remove the canary's slot") { swarm.skep("scale", "2").nil? }
  release(booting)
  swarm.await("node_replaced", times: 2)
  must("finish the reload: #{asked.value}") { asked.value.nil? }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
