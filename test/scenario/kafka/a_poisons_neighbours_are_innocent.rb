# frozen_string_literal: true

require_relative "scenario"

# Four threads of one node: a message that ends it, and beside it three that take long, so that they
# are in hand whenever it crashes. After the first crash each is at work alone: the guilty one is
# set aside after three more, and the others are done.
KafkaScenario.play do
  orders, dead = topic("orders", 4), topic("dead", 1)
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    require "fiddle"
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", threads: 4,
                                     commit_interval: 0.5, dead_letter_topic: "#{dead}")
    Skep.swarm "poisoned", nodes: 1 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each do |message|
          case message.payload
          when "slow" then IO.select(nil, nil, nil, 1.5)
          when "bad"
            IO.select(nil, nil, nil, 0.5) # the others are at work by now
            Fiddle::Pointer.new(8)[0, 1]
          end
          File.write("\#{__dir__}/done", "\#{message.key}\\n", mode: "a")
        end
      end
    end
  RUBY
  swarm.await("node_assigned")
  kinds = %w[bad slow slow slow].each_with_index.to_a
  good = kinds.product((0...10).to_a).map { |(_, number), n| ["#{number}/#{n}", "good", number] }
  feed(orders, kinds.map { |kind, number| ["#{kind} #{number}", kind, number] } + good)
  letter = swarm.await("dead_lettered", seconds: 90)
  notes = "#{swarm.directory}/done"
  done = -> { File.exist?(notes) ? File.readlines(notes, chomp: true) : [] }
  swarm.follow("all but one is handled", seconds: 60) { done.call.uniq.size == 43 }
  swarm.follow("nobody is suspect any more") { swarm.status("poisoned")["suspects"].empty? }
  suspected = swarm.events.select { |event| event["event"] == "work_isolated" }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  puts suspected.map { |event| event.slice("in_flight", "alone", "crashes") }
  must("set aside nothing but the guilty one") { read(dead).map { |one| one[:key] } == ["bad 0"] }
  must("have had it in hand with others, once: #{suspected}") do
    suspected.map { |event| event["alone"] } == [false, true, true, true] &&
      suspected.first["in_flight"].size == 4
  end
  must("count three crashes: #{letter}") { letter["crashes"] == 3 }
  must("wait in no crash loop") { swarm.events.none? { |event| event["event"] == "node_waiting" } }
end
