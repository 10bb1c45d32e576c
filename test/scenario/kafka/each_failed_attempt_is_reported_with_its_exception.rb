# frozen_string_literal: true

require_relative "../scenario"

# A swarm on the embedded broker has `around_handler` and `on_error` blocks. Both run in the node:
# `around_handler` around each batch, `on_error` for each failed attempt, with the exception object.
# An on_error block that raises changes nothing, and one that hangs hides no error. Errors of work
# without Kafka are reported, too.
SWARM = <<~'RUBY'
  require "skep/kafka"

  def note(*words) = File.write(ENV.fetch("NOTES"), "#{words.join(" ")}\n", mode: "a")

  source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": ENV.fetch("KAFKA_BROKERS") }, group: "g",
                                   topics: "orders", retry_backoff: 0.01, max_attempts: 2,
                                   retry_for: nil, dead_letter_topic: "orders.dead")
  Skep.swarm "hooks", nodes: 1 do |swarm|
    swarm.around_handler { |batch, node, handler| note("in", batch.size, node.id); handler.call }
    swarm.on_error { raise "this block is broken" }
    swarm.on_error do |error, context|
      note("error", error.class, error.message, *context.values_at(:topic, :offset, :attempt),
           context[:pid] == Process.pid)
    end
    swarm.work(source) do |batch, _|
      batch.each { |message| raise KeyError, "no price" if message.payload == "bad" }
      note("done", batch.last_offset)
    end
  end
RUBY
PLAIN = <<~'RUBY'
  Skep.swarm "plain", nodes: 1, restart: :never do |swarm|
    swarm.on_error { |error, context| File.write(ENV.fetch("NOTES"), "#{error.message} #{context[:swarm]}") }
    swarm.work { |node| node.ready!; raise "out of paper" }
  end
RUBY

Scenario.play do
  require "skep/kafka/testing"
  broker = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 1, "orders.dead" => 1 })
  at_end { broker.stop }
  seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, "orders")
  seeder.publish([[nil, "good"], [nil, "bad"], [nil, "good"]])
  seeder.close
  notes = File.join(directory, "notes")
  swarm = run_swarm(SWARM, env: { "NOTES" => notes, "KAFKA_BROKERS" => broker.bootstrap_servers })
  swarm.await("dead_lettered")
  swarm.follow("the last message is handled") { File.read(notes).include?("done 2") }
  must("exit with 0") { swarm.stop.exitstatus.zero? }

  named = ->(event) { swarm.events.select { |facts| facts["event"] == event } }
  lines = File.readlines(notes, chomp: true)
  failed = lines.grep(/\Aerror/)
  must("call around_handler for each batch, not:\n#{lines.join("\n")}") do
    lines.grep(/\Ain \d+ 0\z/).size > failed.size
  end
  must("call on_error for each failed attempt, not:\n#{lines.join("\n")}") do
    failed.size == named.call("handler_failed").size + named.call("dead_lettered").size &&
      failed.all? { |line| line.match?(/\Aerror KeyError no price orders 1 \d true\z/) }
  end
  must("log the broken block as hook_failed") do
    named.call("hook_failed").map { |facts| facts.values_at("hook", "error") }.uniq ==
      [["on_error", "RuntimeError: this block is broken"]]
  end

  plain = run_swarm(PLAIN, env: { "NOTES" => "#{notes}.plain" })
  plain.await("node_failed")
  plain.wait
  must("call on_error for work without Kafka") do
    File.read("#{notes}.plain") == "out of paper plain"
  end

  hanging = SWARM.sub('raise "this block is broken"', "IO.pipe.first.read")
                 .sub('group: "g"', 'group: "h"').sub('"hooks"', '"hanging"')
  stuck = run_swarm(hanging, env: { "NOTES" => notes, "KAFKA_BROKERS" => broker.bootstrap_servers })
  must("log the failure before on_error, which hangs") do
    stuck.await("handler_failed")["error"] == "KeyError: no price"
  end
end
