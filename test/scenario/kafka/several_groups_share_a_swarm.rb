# frozen_string_literal: true

# One swarm has three sources, each with its own nodes. Two sources of one group read different
# topics. A third source reads all topics of a pattern in another group, with KIP-848 assignment.
# Each source gets the messages of its topics, and each node has its own instance id in its group.
require_relative "scenario"

def swarm_of(address, directory)
  <<~RUBY
    require "skep/kafka"
    Skep.swarm "readers" do |swarm|
      note = lambda do |name|
        lambda do |batch, node|
          lines = batch.map { |message| "\#{name} \#{node.id} \#{message.topic} \#{message.key}\\n" }
          File.write("#{directory}/done", lines.join, mode: "a")
        end
      end
      kafka = { "bootstrap.servers": "#{address}" }
      source = ->(group, topics, **more) { Skep::Kafka::Source.new(kafka: { **kafka, **more }, group:, topics:) }
      swarm.work(source.call("billing", "orders"), nodes: 2, &note.call("orders"))
      swarm.work(source.call("billing", "invoices"), nodes: 1, &note.call("invoices"))
      swarm.work(source.call("audit", "^(orders|inv.*)$", "group.protocol": "consumer"), nodes: 2, &note.call("audit"))
    end
  RUBY
end

KafkaScenario.play do
  %w[orders invoices].each { |name| topic(name, 4) }
  swarm = run_swarm(swarm_of(broker.address, directory))
  await_assignment(8, swarm, nodes: 5, groups: 2)
  swarm.follow("each node reports its group") do
    swarm.status("readers")["nodes"].map { |node| node["work"]["group"] } ==
      %w[billing billing billing audit audit]
  end

  %w[orders invoices].each do |name|
    feed(name, (0...1_000).map { |n| ["#{name}#{n}", "v", n % 4] })
  end
  swarm.follow("all messages are handled") { lines.uniq.size == 4_000 }
  work = lines.map(&:split).group_by(&:first)
  must("handle only the source's topics") do
    %w[orders invoices].all? { |name| work[name].map { |line| line[2] }.uniq == [name] }
  end
  must("use all nodes of a source") do
    work.transform_values { |all| all.map { |line| line[1] }.uniq.sort } ==
      { "orders" => %w[0 1], "invoices" => %w[2], "audit" => %w[3 4] }
  end
  must("handle each message once for each group: #{lines.size}") { lines.size == 4_000 }

  topic("invoices-2", 2) # a new topic that matches the pattern
  feed("invoices-2", (0...100).map { |n| ["late#{n}", "v", n % 2] })
  swarm.follow("the new topic is read") { lines.uniq.size == 4_100 }
  taken = swarm.events.select { |event| event["event"] == "kafka_instance_id_taken" }
  must("use each instance id once: #{taken.first}") { taken.empty? }
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
