# frozen_string_literal: true

# Who listens to ActiveSupport::Notifications hears events without a word in the swarm file, whoever
# follows the helper and the supervisor's program; docs/reference/events.md has a recipe for
# OpenTelemetry that does what it says.
require_relative "../scenario"

Scenario.play do
  swarm = run_swarm(<<~'RUBY')
    Skep.swarm "notified", nodes: 1, max_restarts: 100 do |swarm|
      swarm.preload do
        require "active_support"
        require "active_support/notifications"
        ActiveSupport::Notifications.subscribe(/\.skep\z/) do |name, *, payload|
          File.write("#{__dir__}/heard", "#{name} #{payload[:node]} #{Process.pid}\n", mode: "a")
        end
      end
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  path = "#{swarm.directory}/heard"
  heard = -> { File.exist?(path) ? File.readlines(path).map(&:split) : [] }
  ready = swarm.await("node_ready", times: 2).to_h { |event| [event["node"], event["pid"]] }
  must("have a helper") { ready.key?("helper") }
  swarm.kill(ready[0])
  swarm.follow("the death is heard in the helper") do
    heard.call.include?(["node_died.skep", "0", ready["helper"].to_s])
  end
  swarm.await("node_ready")
  must("upgrade: #{swarm.stderr}") do
    !Skep::OS::SignalHandoff.supported? || swarm.skep("upgrade", "notified").nil?
  end
  swarm.kill(ready["helper"])
  again = swarm.await("node_ready") { |event| event["node"] == "helper" }
  swarm.follow("the next helper hears of the new program's deeds") do
    swarm.skep("quiet", "notified")
    heard.call.include?(["swarm_quiet.skep", again["pid"].to_s])
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
  must("raise nothing") { swarm.events.none? { |event| event["event"] == "hook_failed" } }
  told = swarm.lines.join # by the helper, which writes it out at its end
  must("export a span of it: #{told[0, 500]}") do
    told.include?('name="node_died"') && told.match?(/"skep.signal" ?=> ?"KILL"/)
  end
end
