# frozen_string_literal: true

require_relative "scenario"
require "open3"

# What a swarm tells of itself, what `skep kafka lag` is told by the cluster, and what
# a client without skep finds are the same: while it lags and nothing is fetched, after kills and
# rebalances, and when all is done. What was counted outlives the nodes that counted it.
KafkaScenario.play do
  # What skep kafka lag says, or its complaint.
  asked = lambda do |*arguments|
    out, err, status = Open3.capture3(RbConfig.ruby, Scenario::RunningSwarm::SKEP, "kafka", "lag",
                                      *arguments, "--brokers", broker.address, "--json")
    status.success? ? JSON.parse(out) : err
  end
  # [end, committed] of each partition, without skep.
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
  seen = ->(swarm) { swarm.status("readers")["nodes"].map { |node| node["work"] } }
  rows = lambda do |swarm|
    seen.call(swarm).flat_map { |work| work["partitions"].to_a.select { |one| one["held"] } }
  end

  topic = topic("orders", 4)
  topic("orders.dead", 1)
  must("know no group yet") { asked.call("readers").include?("no group readers") }

  # Nothing is done while the gate is shut: what isn't fetched must be seen too.
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
  swarm.follow(-> { "all of the lag is seen: #{rows.call(swarm)}" }, seconds: 60) do
    rows.call(swarm).sum { |one| one["lag"].to_i } == 20_000
  end

  File.write(gate, "")
  victim = swarm.status("readers")["nodes"].first["pid"]
  swarm.follow("some of it is done") { seen.call(swarm).first["messages"] > 500 }
  dead = seen.call(swarm).first["messages"]
  swarm.kill(victim)
  swarm.await("node_ready", times: 3)
  await_keys(19_999) # all but one
  swarm.follow("no lag is left") { rows.call(swarm).map { |one| one["lag"] } == [0] * 4 }
  swarm.follow("all is committed") do
    asked.call("readers")["lag"].zero?
  end

  told = asked.call("readers")
  own = independent.call(topic, (0...4).to_a)
  must("agree with another client: #{own}, #{told["partitions"]}") do
    told["partitions"].to_h { |one| [one["partition"], one.values_at("end", "committed")] } == own
  end
  must("agree with the swarm: #{rows.call(swarm)}") do
    rows.call(swarm).to_h { |one| [one["partition"], one.values_at("end", "position")] } == own
  end
  must("name the members: #{told["members"]}") do
    told["members"].size == 2 && told["partitions"].all? { |one| one["member"] && one["host"] }
  end

  totals = swarm.status("readers")["works"].first["totals"]
  living = seen.call(swarm).sum { |work| work["messages"] }
  must("still know of #{dead} that the dead one has done: #{totals}, #{living}") do
    totals["messages"] - living >= dead
  end
  must("count the dead letter: #{totals}") { totals["dead_letters"].between?(1, 2) }
  must("end with 0") { swarm.stop.exitstatus.zero? }
  must("show an empty group") { asked.call("readers").values_at("lag") == [0] }
end
