# frozen_string_literal: true

require_relative "scenario"
require "open3"

# The swarm's status, `skep kafka lag` and a client without skep report the same lag. They agree
# while nothing is fetched, after kills and rebalances, and when every message is handled. The
# counters of a killed node stay in the swarm's totals.
KafkaScenario.play do
  # Returns the report of `skep kafka lag`, or its error.
  report = lambda do |*arguments|
    out, err, status = Open3.capture3(RbConfig.ruby, Scenario::RunningSwarm::SKEP, "kafka", "lag",
                                      *arguments, "--brokers", broker.address, "--json")
    status.success? ? JSON.parse(out) : err
  end
  # Returns [end, committed] of each partition, read with rdkafka.
  independent = lambda do |topic, partitions|
    require "rdkafka"
    consumer = Rdkafka::Config.new("bootstrap.servers" => broker.address,
                                   "group.id" => "readers").consumer
    list = Rdkafka::Consumer::TopicPartitionList.new
    list.add_topic(topic, partitions)
    committed = consumer.committed(list).to_h[topic]
    committed.to_h do |one|
      [one.partition, [consumer.query_watermark_offsets(topic, one.partition).last, one.offset]]
    end
  ensure
    consumer&.close
  end
  works = ->(swarm) { swarm.status("readers")["nodes"].map { |node| node["work"] } }
  rows = lambda do |swarm|
    works.call(swarm).flat_map { |work| work["partitions"].to_a.select { |one| one["held"] } }
  end

  topic = topic("orders", 4)
  topic("orders.dead", 1)
  must("report an unknown group") { report.call("readers").include?("no group readers") }

  # Handlers wait for this file. The lag must include messages that the nodes haven't fetched.
  gate = File.join(directory, "gate")
  body = <<~RUBY
    node.wait(0.1) until node.stopping? || File.exist?(#{gate.inspect})
    raise "bad" if batch.any? { |message| message.key == "7" }
  RUBY
  more = ", max_messages: 50, commit_interval: 0.2, " \
         "dead_letter_topic: \"orders.dead\", max_attempts: 1, retry_for: 0"
  kafka = { "queued.min.messages" => 100, "queued.max.messages.kbytes" => 8,
            "fetch.message.max.bytes" => 4096 }
  swarm = run_swarm(reader(topic, nodes: 2, more:, kafka:, body:, options: ", max_restarts: 100"))
  swarm.await("kafka_rebalance", times: 2) { |event| event["change"] == "assigned" }
  feed(topic, (0...20_000).map { |n| [n.to_s, "v" * 50, n % 4] })
  swarm.follow(-> { "the whole lag is reported: #{rows.call(swarm)}" }, seconds: 60) do
    rows.call(swarm).sum { |one| one["lag"].to_i } == 20_000
  end

  File.write(gate, "")
  victim = swarm.status("readers")["nodes"].first["pid"]
  swarm.follow("some messages are handled") { works.call(swarm).first["messages"] > 500 }
  handled = works.call(swarm).first["messages"]
  swarm.kill(victim)
  swarm.await("node_ready", times: 3)
  await_keys(19_999) # all but the bad one
  swarm.follow("no lag is left") { rows.call(swarm).map { |one| one["lag"] } == [0] * 4 }
  swarm.follow("all messages are committed") do
    report.call("readers")["lag"].zero?
  end

  lag = report.call("readers")
  expected = independent.call(topic, (0...4).to_a)
  must("agree with another client: #{expected}, #{lag["partitions"]}") do
    lag["partitions"].to_h do |one|
      [one["partition"], one.values_at("end", "committed")]
    end == expected
  end
  must("agree with the swarm's status: #{rows.call(swarm)}") do
    rows.call(swarm).to_h { |one| [one["partition"], one.values_at("end", "position")] } == expected
  end
  must("name the members: #{lag["members"]}") do
    lag["members"].size == 2 && lag["partitions"].all? { |one| one["member"] && one["host"] }
  end

  totals = swarm.status("readers")["works"].first["totals"]
  alive = works.call(swarm).sum { |work| work["messages"] }
  must("keep the killed node's count of #{handled}: #{totals}, #{alive}") do
    totals["messages"] - alive >= handled
  end
  must("count the dead letter: #{totals}") { totals["dead_letters"].between?(1, 2) }
  must("exit with 0") { swarm.stop.exitstatus.zero? }
  must("report no lag after the stop") { report.call("readers").values_at("lag") == [0] }
end
