# frozen_string_literal: true

require_relative "scenario"

# A node has four threads. One message crashes the node, and three slow messages are in flight at
# each crash. After the first crash the messages are processed one at a time. The bad message
# becomes a dead letter after three more crashes, and the others are handled.
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
            IO.select(nil, nil, nil, 0.5) # until the slow messages are in flight
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
  swarm.follow("every other message is handled", seconds: 60) { done.call.uniq.size == 43 }
  swarm.follow("no suspect is left") { swarm.status("poisoned")["suspects"].empty? }
  suspected = swarm.events.select { |event| event["event"] == "work_isolated" }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  puts suspected.map { |event| event.slice("in_flight", "alone", "crashes") }
  must("dead-letter only the bad message") { read(dead).map { |one| one[:key] } == ["bad 0"] }
  must("isolate the messages after the first crash: #{suspected}") do
    suspected.map { |event| event["alone"] } == [false, true, true, true] &&
      suspected.first["in_flight"].size == 4
  end
  must("report three crashes in dead_lettered: #{letter}") { letter["crashes"] == 3 }
  must("wait in no crash loop") { swarm.events.none? { |event| event["event"] == "node_waiting" } }
end
