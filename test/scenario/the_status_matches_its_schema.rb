# frozen_string_literal: true

# The output of `skep status --json` matches docs/reference/status.schema.json: with a spare, after
# a node was killed, and while the swarm is quiet.
require_relative "scenario"
require_relative "../support/json_schema"

SCHEMA = JsonSchema.load(File.expand_path("../../docs/reference/status.schema.json", __dir__))

SOURCE = <<~RUBY
  Skep.swarm "billing", nodes: 2, spares: 1, memory_limit: "2G" do |swarm|
    swarm.work do |node|
    node.ready!
      node.work = { totals: { invoices: 1 } }
      node.in_flight("invoice 1")
      node.wait(0.1) until node.stopping?
    end
  end
RUBY

def valid(swarm, moment)
  status = swarm.status("billing")
  errors = SCHEMA.errors(status)
  must("match the schema #{moment}: #{errors.join('; ')}") { errors.empty? }
  status
end

Scenario.play do
  swarm = run_swarm(SOURCE)
  swarm.await("node_ready", times: 2)
  swarm.await("spare_ready")
  before = valid(swarm, "with a spare")
  must("have the spare last") { before["nodes"].last["id"] == "spare 0" }

  victim = before["nodes"].first
  swarm.kill(victim["pid"])
  swarm.await("spare_stepped_in")
  swarm.await("node_died") # the spare doesn't wait for it
  after = valid(swarm, "after a kill")
  exit = after["nodes"].find { |node| node["id"] == victim["id"] }["last_exit"]
  must("have the signal of the last exit: #{exit}") { exit["signal"] == "KILL" }

  swarm.signal(:TSTP)
  swarm.await("swarm_quiet")
  quiet = valid(swarm, "while it is quiet")
  must("be quiet") { quiet["state"] == "quiet" }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
