# frozen_string_literal: true

# Subscribers of ActiveSupport::Notifications receive all events without code in the swarm file,
# also in a new helper. The OpenTelemetry recipe of docs/reference/events.md
# exports a span for each event.
require_relative "../scenario"

Scenario.play do
  swarm = run_swarm(<<~'RUBY')
    Skep.swarm "notified", nodes: 1, max_restarts: 100 do |swarm|
      swarm.preload do
        require "active_support"
        require "active_support/notifications"
        ActiveSupport::Notifications.subscribe(/\.skep\z/) do |name, *, payload|
          File.write("#{__dir__}/received", "#{name} #{payload[:node]} #{Process.pid}\n", mode: "a")
        end
      end
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  path = "#{swarm.directory}/received"
  received = -> { File.exist?(path) ? File.readlines(path).map(&:split) : [] }
  ready = swarm.await("node_ready", times: 2).to_h { |event| [event["node"], event["pid"]] }
  must("have a helper") { ready.key?("helper") }
  swarm.kill(ready[0])
  swarm.follow("the helper receives node_died") do
    received.call.include?(["node_died.skep", "0", ready["helper"].to_s])
  end
  swarm.await("node_ready")
  swarm.kill(ready["helper"])
  again = swarm.await("node_ready") { |event| event["node"] == "helper" }
  swarm.follow("the next helper receives events") do
    swarm.skep("quiet", "notified")
    received.call.include?(["swarm_quiet.skep", again["pid"].to_s])
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }

  docs = File.read("#{__dir__}/../../../docs/reference/events.md", encoding: "UTF-8")
  recipe = docs[/^```ruby\n(tracer = .*?)^```/m, 1]
  swarm = run_swarm(<<~RUBY, env: { "OTEL_TRACES_EXPORTER" => "console" })
    require "opentelemetry/sdk"
    Skep.swarm "traced", nodes: 1 do |swarm|
      #{recipe}
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  node = swarm.await("node_ready") { |event| event["node"] == 0 }
  swarm.kill(node["pid"])
  swarm.await("node_ready") { |event| event["pid"] != node["pid"] }
  must("stop with 0, too") { swarm.stop.exitstatus == 0 }
  must("raise no error in the recipe") do
    swarm.events.none? { |event| event["event"] == "hook_failed" }
  end
  output = swarm.lines.join # the helper prints its spans when it exits
  must("export a span of node_died: #{output[0, 500]}") do
    output.include?('name="node_died"') && output.match?(/"skep.signal" ?=> ?"KILL"/)
  end
end
