# frozen_string_literal: true

# At the same moment the file changes and HUP comes, the swarm is scaled, and nodes are killed, in
# each order. In the end there are as many nodes as were asked for, all of them ready and of the
# newest file, and no other process.
require_relative "scenario"

CODE = <<~'RUBY'
  VERSION = %<version>s
  Skep.swarm "all", nodes: 4, max_restarts: 1_000, stop_timeout: 5 do |swarm|
    swarm.on_boot { |node| node.wait(0.05) }
    swarm.work do |node|
      node.event(:runs, version: VERSION)
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(format(CODE, version: 0))
  swarm.await("node_ready", times: 4)
  # Returns the state and the version of each node.
  states = lambda do
    versions = swarm.events.select { |one| one["event"] == "runs" }
                    .to_h { |one| one.values_at("pid", "version") }
    swarm.status("all")["nodes"].map { |node| [node["state"], versions[node["pid"]]] }
  end

  kill = lambda do |pid|
    swarm.kill(pid)
  rescue Errno::ESRCH # The reload or the scale has ended it.
    nil
  end

  steps = %i[hup scale kill].permutation.to_a * 2
  steps.each.with_index(1) do |order, version|
    count = [2, 6, 3, 5][version % 4]
    File.write(File.join(swarm.directory, "swarm.rb"), format(CODE, version:))
    ready = ready_pids(swarm)
    order.each do |step|
      case step
      when :hup then swarm.signal(:HUP)
      when :kill then ready.sample(2).each { |pid| kill.call(pid) }
      when :scale
        answer = swarm.client("all").call("scale", nodes: count)
        must("scale: #{answer}") { answer["done"] }
      end
      swarm.follow_for(0.03 * rand) # Lets the other steps begin meanwhile.
    end
    wanted = [["ready", version]] * count
    swarm.follow(-> { "#{order}: #{count} nodes of version #{version}, not #{states.call}" }) do
      states.call == wanted
    end
    ends = %w[reload_finished reload_failed]
    swarm.follow("the reload is over: #{order}") do
      swarm.events.count { |one| ends.include?(one["event"]) } == version
    end
    # No spare process: the supervisor, a mold, the process that it has forked ahead, and nodes.
    swarm.follow(-> { "#{count + 3} processes, not #{started_by(swarm).size}: #{order}" }) do
      started_by(swarm).size == count + 3
    end
    must("keep the nodes: #{order}, #{states.call}") { states.call == wanted }
  end
  errors = swarm.events.select { |one| one["event"] == "supervisor_error" }
  must("have no error of its own: #{errors.first}") { errors.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  nothing_left(swarm)
end
