# frozen_string_literal: true

# A handler that takes longer than max.poll.interval.ms and the session's timeout keeps its
# partition: there is no rebalance, it isn't done twice, and another partition of the node goes on.
# (It says `busy(for:)`, so that the supervisor doesn't take it for hung.) One that doesn't let go
# of Ruby's lock all that time, so that nobody can serve the group, loses its partitions: all of
# that is told, they come back to the node by its name, and what was in progress is done again.
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
          deaf = File.read("#{file}").include?("begin deaf") if File.exist?("#{file}")
          File.write("#{file}", "begin \#{message.payload}\\n", mode: "a")
          case message.payload
          when "long" then node.busy(for: 60) { IO.select(nil, nil, nil, 9) }
          when "deaf" then nap.call(9_000_000) unless deaf
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
  swarm.follow("the others are done meanwhile") { lines.grep(/end short/).size == 20 }
  must("still be at the long one") { !lines.include?("end long") }
  swarm.follow("the long one is done") { lines.include?("end long") }
  feed(orders, [["k", "after", 0]])
  swarm.follow("what comes after it is, too") { lines.include?("end after") }
  must("do it once: #{lines.tally}") { lines.count("begin long") == 1 }
  must("keep its partitions: #{changes.call}") { changes.call == %w[assigned] }

  feed(orders, [["k", "deaf", 0]])
  swarm.follow("the deaf one is done") { lines.include?("end deaf") }
  feed(orders, [["k", "last", 0]])
  swarm.follow("it goes on") { lines.include?("end last") }
  # (It may come before the news of that.)
  swarm.follow("it is told why, and that they were lost: #{changes.call}") do
    told = events.call("kafka_error").map { |event| event["code"] }
    told.include?("_MAX_POLL_EXCEEDED") && changes.call == %w[assigned lost assigned]
  end
  puts "fenced itself: #{events.call("kafka_member_fenced").size}"
  must("do it again, once: #{lines.tally}") { lines.count("begin deaf") == 2 }
  must("keep its name") { events.call("kafka_instance_id_taken").empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
