# frozen_string_literal: true

# A deleted and recreated topic is read from its beginning, whatever its size, also in transactions.
# A group with members can't be deleted. skep reports the number of messages that retention deleted
# before they were read. skep skips no batch with a wrong checksum on the broker's disk: the
# partition waits until it is repaired.
require_relative "scenario"
require_relative "support/wire"
require "rdkafka"

class DeletedMessages < KafkaScenario
  def delete_group(name)
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    admin.delete_group(name).wait(max_wait_timeout: 15)
  ensure
    admin&.close
  end

  # Flips a bit in a payload of the batch that begins at this offset. The broker doesn't check what
  # it sends.
  def flip(path, offset)
    text = File.binread(path)
    at = 0
    at += 12 + text[at + 8, 4].unpack1("N") while text[at, 8].unpack1("Q>") != offset
    File.open(path, "r+b") { |file| file.pwrite((text.getbyte(at + 80) ^ 1).chr, at + 80) }
  end

  # At first the topic has 500 messages, then 1,500.
  def reads_recreated_topic_in_transactions
    name = topic("copied", 1)
    before = keys.size
    more = ", commit_interval: 0.3, transactional: true"
    swarm = run_swarm(reader(name, nodes: 1, group: "copiers", more:))
    swarm.await("node_assigned")
    feed(name, (50_000...50_500).map { |n| [n.to_s, "v"] })
    await_keys(before + 500)
    recreate(name)
    feed(name, (50_500...52_000).map { |n| [n.to_s, "v"] })
    await_keys(before + 2_000)
    recreated = swarm.await("kafka_topic_recreated")
    must("name the topic: #{recreated}") { recreated["partitions"] == { name => [0] } }
    must("exit with 0") { swarm.stop.exitstatus.zero? }
  end

  def bills_done = lines.count { |line| line.include?(" bills/") }
end

DeletedMessages.play do
  orders, bills = topic("orders", 1), topic("bills", 1)
  slow = File.join(directory, "slow")
  body = "IO.select(nil, nil, nil, 0.2) if File.exist?(#{slow.inspect})"
  more = ", commit_interval: 0.3, max_messages: 100"
  swarm = run_swarm(reader([orders, bills], nodes: 1, more:, body:))
  swarm.await("node_assigned")
  feed(orders, (0...500).map { |n| [n.to_s, "v"] })
  await_keys(500)

  must("keep a group with a member from being deleted") do
    delete_group("readers")
  rescue Rdkafka::RdkafkaError => e
    e.code == :non_empty_group
  end

  recreate(orders)
  feed(orders, (500...2_000).map { |n| [n.to_s, "v"] })
  await_keys(2_000)
  recreated = swarm.await("kafka_topic_recreated")
  must("name the recreated topic: #{recreated}") { recreated["partitions"] == { "orders" => [0] } }

  File.write(slow, "")
  feed(bills, (2_000...32_000).map { |n| [n.to_s, "v" * 1_000] })
  swarm.follow("some messages are handled") { bills_done > 100 }
  Wire.delete_records(broker.port, bills, 0, 29_000)
  File.unlink(slow)
  lost = swarm.await("messages_lost")
  swarm.follow("all other messages are handled") { bills_done == 30_000 - lost["messages"] }
  must("name the lost offsets: #{lost}") do
    lost.values_at("topic", "offset", "last_offset") == [bills, 29_000 - lost["messages"], 28_999]
  end
  reset = swarm.await("kafka_offset_reset") { |event| event["topic"] == "bills" }
  must("name the old and the new place: #{reset}") do
    reset.values_at("offset", "to") == [lost["offset"], "beginning"]
  end

  3.times { |n| feed(orders, (0...10).map { |key| [(40_000 + (n * 10) + key).to_s, "v" * 50] }) }
  await_keys(2_000 + 30_000 - lost["messages"] + 30)
  must("exit with 0") { swarm.stop.exitstatus.zero? }
  path = Dir.glob("#{directory}/broker/data/orders-0/*.log").first
  flip(path, 1_510)
  File.unlink(file)
  swarm = run_swarm(reader(orders, nodes: 1, group: "others"))
  stuck = swarm.await("kafka_unreadable")
  must("name the unreadable batch: #{stuck}") do
    stuck.values_at("topic", "offset") == ["orders", 1_510]
  end
  await_keys(1_510)
  must("handle no message after that batch") { keys.max == 40_009 }
  flip(path, 1_510)
  await_keys(1_530)
  swarm.await("kafka_readable")
  must("exit with 0") { swarm.stop.exitstatus.zero? }

  reads_recreated_topic_in_transactions
end
