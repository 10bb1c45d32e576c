# frozen_string_literal: true

# A slow handler with a large lag. The node's private memory stays bounded, with ordering by
# partition and by key. librdkafka's queues are bounded, and the node takes a message out of them
# only to process it. (MESSAGES=n for more.)
require_relative "scenario"

MESSAGES = Integer(ENV.fetch("MESSAGES", "200000"))
BYTES = 1_000
MOST = 96 << 20 # two queues of 16 MiB, briefly twice that, a fetch each, and a batch

KafkaScenario.play do
  orders = topic("orders", 2)
  payload = "v" * BYTES
  feed(orders, (0...MESSAGES).lazy.map { |n| ["k#{n % 1_000}", payload, n % 2] })
  grown = ["", ", ordered_by: :key, threads: 4"].map do |more|
    swarm = run_swarm(<<~RUBY)
      require "skep/kafka"
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "g#{more.size}", topics: ["#{orders}"] #{more})
      Skep.swarm "slow", nodes: 1 do |swarm|
        swarm.work(source) do |batch, node|
          batch.each { |message| IO.select(nil, nil, nil, 0.005) }
        end
      end
    RUBY
    pid = swarm.await("node_ready")["pid"]
    before = Skep::OS::Memory.of(pid).uss
    swarm.await("node_assigned")
    most = before
    deadline = Skep::OS.now + 6
    swarm.follow("6 s of reading", seconds: 30) do
      most = [most, Skep::OS::Memory.of(pid).uss].max
      Skep::OS.now > deadline
    end
    lag = swarm.status("slow")["nodes"].first["work"]["lag"]
    must("lag by nearly all messages, not #{lag}") { lag > MESSAGES * 0.9 }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    puts "#{more.empty? ? "by partition" : "by key"}: #{(most - before) >> 20} MiB more, lag #{lag}"
    most - before
  end
  must("grow by less than #{MOST >> 20} MiB: #{grown}") { grown.all? { |bytes| bytes < MOST } }
end
