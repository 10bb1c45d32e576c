# frozen_string_literal: true

# Ordered by key, a message fails and waits an hour for its retry. All other messages, 60 MB, are
# handled meanwhile, except those of its key. After a deploy the message succeeds, those of its key
# follow in order, and none of the others is handled again.
# (MESSAGES=n for more.)
require_relative "scenario"

MESSAGES = Integer(ENV.fetch("MESSAGES", "60000"))
KEYS = 200
FAILING = 5 # offset

KafkaScenario.play do
  orders = topic("orders", 1)
  feed(orders, (0...MESSAGES).map { |n| ["k#{n % KEYS}", "#{n} #{"x" * 1_000}", 0] })
  place, healthy = File.join(directory, "done"), File.join(directory, "healthy")
  start = lambda do
    run_swarm(<<~RUBY, arguments: %w[--log-level debug])
      require "skep/kafka"
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: ["#{orders}"], threads: 2,
                                       ordered_by: :key, max_out_of_order: 1_000_000,
                                       commit_interval: 0.2, retry_backoff: 3_600,
                                       retry_backoff_max: 3_600)
      Skep.swarm "keyed", nodes: 1 do |swarm|
        swarm.on_boot { @done = File.open("#{place}.\#{Process.pid}", "a") }
        swarm.work(source) do |batch, node|
          batch.each do |message|
            raise "not yet" if message.offset == #{FAILING} && !File.exist?("#{healthy}")
            @done.syswrite("\#{message.offset}\\n")
            batch.mark(message)
          end
        end
      end
    RUBY
  end
  done = lambda do
    Dir.glob("#{place}.*").flat_map { |path| File.readlines(path, chomp: true).map(&:to_i) }
  end
  waiting = MESSAGES / KEYS

  swarm = start.call
  swarm.follow("all other messages are handled", seconds: 60) do
    done.call.size == MESSAGES - waiting
  end
  failures = swarm.events.select { |event| event["event"] == "handler_failed" }
  must("wait an hour, not #{failures}") { failures.last["retry_in"] > 1_800 }
  must("wait for no room") { swarm.events.none? { |one| one["event"] == "kafka_backpressure" } }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  File.write(healthy, "")
  swarm = start.call
  swarm.follow("all is handled", seconds: 60) { done.call.uniq.size == MESSAGES }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  twice = done.call.size - MESSAGES
  puts "#{waiting} messages waited behind #{MESSAGES}, #{twice} were handled twice"
  must("handle none twice, not #{twice}") { twice.zero? }
  must("keep the order of the key that waited") do
    key = done.call.select { |offset| offset % KEYS == FAILING }
    key == key.sort && key.size == waiting
  end
end
