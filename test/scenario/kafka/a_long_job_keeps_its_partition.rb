# frozen_string_literal: true

# A handler that takes longer than max.poll.interval.ms and the session timeout keeps its partition.
# No rebalance happens, the message is handled once, and the node's other partition continues. The
# handler calls `busy(for:)`, so that the supervisor doesn't consider the node hung. A handler that
# holds the GVL for that long loses the node's partitions, as no thread can serve the group. The
# node logs that, gets them back under its instance id, and repeats the message in progress.
require_relative "scenario"

KafkaScenario.play do
  orders = topic("orders", 2)
  settings = { "max.poll.interval.ms" => 6_000, "session.timeout.ms" => 6_000 }
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    require "fiddle"
    kafka = #{{ "bootstrap.servers" => broker.address, **settings }.inspect}
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: ["#{orders}"], threads: 2)
    nap = Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT,
                               need_gvl: true)
    Skep.swarm "long", nodes: 1, liveness_timeout: 30 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each do |message|
          repeated = File.read("#{file}").include?("begin gvl") if File.exist?("#{file}")
          File.write("#{file}", "begin \#{message.payload}\\n", mode: "a")
          case message.payload
          when "long" then node.busy(for: 60) { IO.select(nil, nil, nil, 9) }
          when "gvl" then nap.call(9_000_000) unless repeated
          end
          File.write("#{file}", "end \#{message.payload}\\n", mode: "a")
        end
      end
    end
  RUBY
  events = ->(name) { swarm.events.select { |event| event["event"] == name } }
  changes = -> { events.call("kafka_rebalance").map { |event| event["change"] } }

  swarm.await("node_assigned")
  feed(orders, [["k", "long", 0], *(0...20).map { |n| ["k", "short #{n}", 1] }])
  swarm.follow("the other partition's messages are handled") { lines.grep(/end short/).size == 20 }
  must("still process the long message") { !lines.include?("end long") }
  swarm.follow("the long message is handled") { lines.include?("end long") }
  feed(orders, [["k", "after", 0]])
  swarm.follow("the message after it is handled") { lines.include?("end after") }
  must("handle the long message once: #{lines.tally}") { lines.count("begin long") == 1 }
  must("keep its partitions: #{changes.call}") { changes.call == %w[assigned] }

  feed(orders, [["k", "gvl", 0]])
  swarm.follow("the message with the GVL is handled") { lines.include?("end gvl") }
  feed(orders, [["k", "last", 0]])
  swarm.follow("the partition continues") { lines.include?("end last") }
  # The last message may be handled before these events arrive.
  swarm.follow("the loss and its reason are logged: #{changes.call}") do
    codes = events.call("kafka_error").map { |event| event["code"] }
    codes.include?("_MAX_POLL_EXCEEDED") && changes.call == %w[assigned lost assigned]
  end
  puts "fenced itself: #{events.call("kafka_member_fenced").size}"
  must("repeat that message once: #{lines.tally}") { lines.count("begin gvl") == 2 }
  must("keep its instance id") { events.call("kafka_instance_id_taken").empty? }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
