# frozen_string_literal: true

# SKEP_<OPTION> overrides the swarm file's value; the command line overrides both. For a bad value
# `skep run` and `skep check` print one sentence that names the variable.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "set", nodes: 1, stop_timeout: 40 do |swarm|
    swarm.work { |node| node.wait until node.stopping? }
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE, env: { "SKEP_NODES" => "3", "SKEP_LIVENESS_TIMEOUT" => "60" })
  swarm.await("node_ready", times: 3)
  must("take the number of nodes from the variable") { swarm.status("set")["nodes"].size == 3 }
  must("end with 0") { swarm.stop.exitstatus == 0 }

  flagged = run_swarm(SOURCE, env: { "SKEP_NODES" => "3" }, arguments: ["--nodes", "2"])
  flagged.await("node_ready", times: 2)
  must("take the number of nodes from the flag") { flagged.status("set")["nodes"].size == 2 }
  must("end with 0 again") { flagged.stop.exitstatus == 0 }

  sentence = /SKEP_NODES must be a whole number from 1 to 100000 \(got "many"\)$/
  bad = run_swarm(SOURCE, env: { "SKEP_NODES" => "many" })
  must("end with 78: #{bad.stderr}") { bad.wait.exitstatus == 78 }
  must("name the variable: #{bad.stderr}") do
    bad.stderr.lines.size == 1 && bad.stderr.match?(sentence)
  end

  _, err, status = Open3.capture3({ "SKEP_NODES" => "many" }, RbConfig.ruby,
                                  Scenario::RunningSwarm::SKEP, "check",
                                  "#{bad.directory}/swarm.rb")
  must("fail skep check with the same sentence: #{err}") do
    status.exitstatus == 78 && err.match?(sentence)
  end
end
