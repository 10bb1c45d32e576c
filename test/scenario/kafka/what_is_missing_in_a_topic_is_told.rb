# frozen_string_literal: true

# A topic that is deleted and made again is read from its beginning, however many messages are in
# it. A group at work can't be deleted. Messages that retention took before they were read are told
# of, with their number. A batch that lies on the broker's disk with a wrong checksum is not passed
# over: its partition waits until it is mended.
require_relative "scenario"
require_relative "support/wire"
require "rdkafka"

class Missing < KafkaScenario
  def again(name)
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    admin.delete_topic(name).wait(max_wait_timeout: 15)
    admin.create_topic(name, 1, 1).wait(max_wait_timeout: 15)
  rescue Rdkafka::RdkafkaError => e
    raise unless e.code == :topic_already_exists # it isn't gone for good yet

    retry
  ensure
    admin&.close
  end

  def delete_group(name)
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    admin.delete_group(name).wait(max_wait_timeout: 15)
  ensure
    admin&.close
  end

  # Flips a bit in a payload of the batch that begins with this offset, or flips it back. The broker
  # doesn't look at what it sends.
  def flip(path, offset)
    text = File.binread(path)
    at = 0
    at += 12 + text[at + 8, 4].unpack1("N") while text[at, 8].unpack1("Q>") != offset
    File.open(path, "r+b") { |file| file.pwrite((text.getbyte(at + 80) ^ 1).chr, at + 80) }
  end

  def bills_done = lines.count { |line| line.include?(" bills/") }
end

Missing.play do
  orders, bills = topic("orders", 1), topic("bills", 1)
  slow = File.join(directory, "slow")
  body = "IO.select(nil, nil, nil, 0.2) if File.exist?(#{slow.inspect})"
  more = ", commit_interval: 0.3, max_messages: 100"
  swarm = run_swarm(reader([orders, bills], nodes: 1, more:, body:))
  swarm.await("node_assigned")
  feed(orders, (0...500).map { |n| [n.to_s, "v"] })
  await_keys(500)

  must("keep its group while it is a member") do
    delete_group("readers")
  rescue Rdkafka::RdkafkaError => e
    e.code == :non_empty_group
  end

  again(orders)
  feed(orders, (500...2_000).map { |n| [n.to_s, "v"] })
  await_keys(2_000)
  remade = swarm.await("kafka_topic_recreated")
  must("name it: #{remade}") { remade["partitions"] == { "orders" => [0] } }

  File.write(slow, "")
  feed(bills, (2_000...32_000).map { |n| [n.to_s, "v" * 1_000] })
  swarm.follow("some are done") { bills_done > 100 }
  Wire.delete_records(broker.port, bills, 0, 29_000)
  File.unlink(slow)
  lost = swarm.await("messages_lost")
  swarm.follow("all others are done") { bills_done == 30_000 - lost["messages"] }
  must("name what is lost: #{lost}") do
    lost.values_at("topic", "offset", "last_offset") == [bills, 29_000 - lost["messages"], 28_999]
  end
  reset = swarm.await("kafka_offset_reset") { |event| event["topic"] == "bills" }
  must("say where from and to: #{reset}") do
    reset.values_at("offset", "to") == [lost["offset"], "beginning"]
  end

  3.times { |n| feed(orders, (0...10).map { |key| [(40_000 + (n * 10) + key).to_s, "v" * 50] }) }
  await_keys(2_000 + 30_000 - lost["messages"] + 30)
  must("stop with 0") { swarm.stop.exitstatus.zero? }
  path = Dir.glob("#{directory}/broker/data/orders-0/*.log").first
  flip(path, 1_510)
  File.unlink(file)
  swarm = run_swarm(reader(orders, nodes: 1, group: "others"))
  stuck = swarm.await("kafka_unreadable")
  must("name the place: #{stuck}") { stuck.values_at("topic", "offset") == ["orders", 1_510] }
  await_keys(1_510)
  must("stay before it") { keys.max == 40_009 }
  flip(path, 1_510)
  await_keys(1_530)
  swarm.await("kafka_readable")
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
