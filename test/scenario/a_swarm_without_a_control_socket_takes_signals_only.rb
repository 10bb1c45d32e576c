# frozen_string_literal: true

# With `control: false` a swarm starts with one warning and has no control socket. A leftover of an
# earlier swarm is removed. Commands say why they can't reach it, signals reach it, and its name is
# taken all the same.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(IDLE)
  swarm.await("node_ready", times: 3)
  swarm.kill(swarm.pid)
  swarm.wait
  socket = File.join(swarm.directory, "idle.sock")
  must("leave a socket behind") { File.socket?(socket) }

  swarm = run_swarm(IDLE, arguments: ["--control", "false"], in_directory: swarm.directory)
  warning = swarm.await("option_ignored")
  must("warn of it: #{warning}") { warning["error"].start_with?("control is false: ") }
  swarm.await("node_ready", times: 3)
  must("have no socket") { !File.exist?(socket) }
  [%w[status idle], %w[status], %w[stop idle]].each do |command|
    why = swarm.skep(*command)
    must("say why #{command} fails: #{why}") do
      why.to_s.include?("swarm idle (pid #{swarm.pid}) has no control socket, as its option")
    end
  end
  must("warn once") { swarm.events.count { |event| event["event"] == "option_ignored" } == 1 }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  why = swarm.skep("status", "idle")
  must("name no swarm that has ended: #{why}") { why.include?("no swarm called idle runs") }
end
