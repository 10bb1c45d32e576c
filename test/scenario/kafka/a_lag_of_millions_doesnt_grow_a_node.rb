# frozen_string_literal: true

# A slow handler with very much waiting before it: what a node holds for itself in memory stays what
# it was, by partition and by key, for librdkafka's queues are bounded and nothing is taken out of
# them that nobody works on. (MESSAGES=n for more.)
require_relative "scenario"

MESSAGES = Integer(ENV.fetch("MESSAGES", "200000"))
BYTES = 1_000
MOST = 96 << 20 # two partitions of 16 MiB, twice for a moment, a fetch each, and a batch

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
    swarm.follow("some time to read", seconds: 30) do
      most = [most, Skep::OS::Memory.of(pid).uss].max
      Skep::OS.now > deadline
    end
    lag = swarm.status("slow")["nodes"].first["work"]["lag"]
    must("lag by nearly all, not #{lag}") { lag > MESSAGES * 0.9 }
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    puts "#{more.empty? ? "in order" : "by key"}: #{(most - before) >> 20} MiB more, lag #{lag}"
    most - before
  end
  must("hold no more than #{MOST >> 20} MiB: #{grown}") { grown.all? { |bytes| bytes < MOST } }
end
