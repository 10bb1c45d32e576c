# frozen_string_literal: true

# After `skep reload` the `swarm.on` blocks of the new file run for their events, also if the old
# file had none. The event reload_ignored names the changes that a reload can't apply.
# Works in another order are refused.
require_relative "scenario"

# A source with a kind, which waits until the node stops.
SOURCE = <<~RUBY
  class Waiting
    def initialize(kind) = @kind = kind
    def errors = []
    def facts = { "kind" => @kind }
    def threads = 1

    def run(node, _handler)
      node.ready!
      node.wait until node.stopping?
    end
  end

RUBY

def write(directory, works, *events)
  blocks = events.map do |event|
    "s.on(:#{event}) { |facts| File.write(\"\#{__dir__}/calls\", " \
      "\"#{event} \#{facts[\"node\"]}\\n\", mode: \"a\") }\n"
  end
  File.write(File.join(directory, "swarm.rb"),
             "#{SOURCE}Skep.swarm \"news\", max_restarts: 1000 do |s|\n" \
             "#{blocks.join}#{works}\nend\n")
end

def works(first, second, nodes: 1)
  "s.work(Waiting.new(\"#{first}\"), nodes: #{nodes}) { nil }; " \
    "s.work(Waiting.new(\"#{second}\"), nodes: 1) { nil }"
end

def calls(swarm)
  path = File.join(swarm.directory, "calls")
  File.exist?(path) ? File.readlines(path, chomp: true) : []
end

def kinds(swarm) = swarm.status("news")["works"].map { |work| work["kind"] }

Scenario.play do
  swarm = run_swarm(nil, prepare: ->(directory) { write(directory, works("orders", "audit")) })
  swarm.await("node_ready", times: 2)

  write(swarm.directory, works("orders", "invoices"), "node_died", "node_ready")
  must("reload") { swarm.skep("reload", "news").nil? }
  swarm.await("node_ready") { |event| event["node"] == "helper" }
  must("show the new works: #{kinds(swarm)}") { kinds(swarm) == %w[orders invoices] }
  swarm.kill(swarm.status("news")["nodes"][0]["pid"])
  swarm.follow("the new blocks run") { (["node_died 0", "node_ready 0"] - calls(swarm)).empty? }

  write(swarm.directory, works("orders", "invoices", nodes: 3), "node_died", "node_replacing")
  must("reload again") { swarm.skep("reload", "news").nil? }
  ignored = swarm.await("reload_ignored")["error"]
  must("name the ignored change: #{ignored}") { ignored.include?("nodes of work work changed") }
  must("restart") { swarm.skep("restart", "news").nil? }
  swarm.follow("a block for another event runs") { calls(swarm).include?("node_replacing 1") }

  write(swarm.directory, works("invoices", "orders"))
  why = swarm.skep("reload", "news")
  must("refuse works in another order: #{why}") { why.to_s.include?("in another order") }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
