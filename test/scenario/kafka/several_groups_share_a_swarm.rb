# frozen_string_literal: true

# Several sources in one swarm, each with nodes of its own: two of the same group read different
# topics, a third reads all topics of a pattern in another group, with the protocol of KIP-848 where
# the broker assigns. Everybody gets what is theirs, and all are known to their groups by names of
# their own.
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
  share(8, swarm, among: 5, groups: 2)
  swarm.follow("each says in which group it is") do
    swarm.status("readers")["nodes"].map { |node| node["work"]["group"] } ==
      %w[billing billing billing audit audit]
  end

  %w[orders invoices].each do |name|
    feed(name, (0...1_000).map { |n| ["#{name}#{n}", "v", n % 4] })
  end
  swarm.follow("all is handled") { lines.uniq.size == 4_000 }
  work = lines.map(&:split).group_by(&:first)
  must("keep to their topics") do
    %w[orders invoices].all? { |name| work[name].map { |line| line[2] }.uniq == [name] }
  end
  must("share them") do
    work.transform_values { |all| all.map { |line| line[1] }.uniq.sort } ==
      { "orders" => %w[0 1], "invoices" => %w[2], "audit" => %w[3 4] }
  end
  must("come once: #{lines.size}") { lines.size == 4_000 }

  topic("invoices-2", 2) # a topic made later, which the pattern is of
  feed("invoices-2", (0...100).map { |n| ["late#{n}", "v", n % 2] })
  swarm.follow("it is read") { lines.uniq.size == 4_100 }
  taken = swarm.events.select { |event| event["event"] == "kafka_instance_id_taken" }
  must("have a name each: #{taken.first}") { taken.empty? }
  must("end with 0") { swarm.stop.exitstatus.zero? }
end
