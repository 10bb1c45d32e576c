# frozen_string_literal: true

require_relative "scenario"
require_relative "../../../examples/json_to_postgres/order_table"

# examples/json_to_postgres, while its nodes are killed and the database restarts and crashes: each
# order's row matches its newest message, and only invalid orders become dead letters.
ExampleScenario.play do
  orders, partitions = 4_000, 8
  topics("orders" => partitions, "orders.dead" => 1)
  database.load("#{ExampleScenario::EXAMPLES}/json_to_postgres/schema.sql")

  messages = lambda do |state, cents|
    Array.new(orders) do |id|
      order = { id:, customer: "c#{id % 9}", state:, cents: cents + id }
      [id.to_s, JSON.generate(order), id % partitions]
    end
  end
  invalid = JSON.generate(id: orders, customer: nil, state: "made", cents: 1)
  broken = [["7", "{", 7], [orders.to_s, invalid, 0]]
  stored = lambda do |state|
    Integer(database.query("SELECT count(*) FROM orders WHERE state = '#{state}'"))
  end

  swarm = run_example("json_to_postgres", "DATABASE_URL" => database.url)
  feed("orders", messages.call("made", 100))
  kill_at(swarm, [1, 2_000]) { stored.call("made") }
  feed("orders", [*messages.call("paid", 200), *broken])
  database.restart("fast")
  feed("orders", messages.call("sent", 300))
  database.restart("immediate") { kill_at(swarm, [0]) { 0 } }
  swarm.follow("all orders are sent") { stored.call("sent") == orders }
  swarm.await("dead_lettered", times: broken.size)
  stop_well(swarm)

  # A write of a process that was considered dead.
  OrderTable.new(database.url).upsert([{ id: 5, customer: "c", state: "made", cents: 1,
                                         kafka_offset: 0 }], nil)
  sums = database.query("SELECT count(*), sum(cents - id), min(state), max(state) FROM orders")
  must("store the last message of each order, not #{sums}") do
    sums.chomp == "#{orders}|#{orders * 300}|sent|sent"
  end
  dead = swarm.events.select { |event| event["event"] == "dead_lettered" }
  must("dead-letter only invalid orders: #{dead}") do
    dead.all? { |event| event["error"].match?(/\A(?:JSON::ParserError|PG::NotNullViolation)/) }
  end
end
