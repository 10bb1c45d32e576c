# frozen_string_literal: true

# A mold that dies is replaced by one that loads the swarm file as it is then, also without a
# reload. Its nodes continue with the old code. A node that dies later boots the code of the new
# mold. While the file can't be loaded, no dead node is replaced; it is once the file is corrected.
require_relative "scenario"

def code(version)
  <<~RUBY
    Skep.swarm "code", nodes: 2 do |swarm|
      swarm.work do |node|
        node.event(:runs, version: #{version})
        node.ready!
        node.wait until node.stopping?
      end
    end
  RUBY
end

def write(swarm, text) = File.write(File.join(swarm.directory, "swarm.rb"), text)

Scenario.play do
  swarm = run_swarm(code(1))
  nodes = swarm.await("node_ready", times: 2).to_h { |event| [event["node"], event["pid"]] }
  mold = swarm.await("mold_ready")["pid"]
  swarm.await("runs", times: 2)

  write(swarm, code(2))
  swarm.kill(mold)
  mold = swarm.await("mold_ready")["pid"]
  pids = swarm.status("code")["nodes"].map { |one| one["pid"] }
  must("keep the nodes: #{pids}") { pids == nodes.values_at(0, 1) }
  swarm.kill(nodes[0])
  runs = swarm.await("runs")
  must("boot the file's code in the replacement: #{runs}") do
    runs.values_at("node", "version") == [0, 2]
  end

  write(swarm, "raise 'broken'")
  swarm.kill(mold)
  swarm.await("mold_load_failed")
  swarm.kill(swarm.status("code")["nodes"].first["pid"])
  swarm.await("node_died") { |event| event["node"].zero? }
  swarm.await("mold_load_failed", times: 2)
  first, second = swarm.status("code")["nodes"]
  must("replace no node meanwhile: #{first}") { first["pid"].nil? }
  must("keep the other node") { second["pid"] == nodes[1] && second["state"] == "ready" }

  write(swarm, code(3))
  runs = swarm.await("runs")
  must("boot the corrected code: #{runs}") { runs.values_at("node", "version") == [0, 3] }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
