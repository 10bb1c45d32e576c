# frozen_string_literal: true

require_relative "scenario"
require_relative "../support/page"

# README's first program, in an application that the generator has set up: a row for each order,
# although a node is killed, and a dead letter for a message that isn't JSON.
RailsScenario.play do
  install
  page = Page.new(File.expand_path("../../../README.md", __dir__))
  write("config/skep.rb", page.programs.fetch("config/skep.rb"))
  write("app/models/order.rb", "class Order < ActiveRecord::Base; end\n")
  notes.query("CREATE TABLE orders (id int PRIMARY KEY, cents int)")
  broker.create_topic("orders", 4)
  broker.create_topic("orders.dead", 1)
  feed = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, "orders")
  at_end { feed.close }
  orders = ->(range) { range.map { |id| [id.to_s, JSON.generate(id:, cents: id * 100)] } }
  count = -> { Integer(rows("SELECT count(*) FROM orders").first.first) }

  swarm = run_application
  feed.publish(orders.call(0...200) + [["x", "not JSON"]])
  swarm.follow("some orders are rows") { count.call >= 100 }
  swarm.kill(ready_pids(swarm).first)
  feed.publish(orders.call(200...400))
  swarm.follow(-> { "#{count.call} of 400 orders are rows" }) { count.call == 400 }
  letter = swarm.await("dead_lettered")
  must("write it to orders.dead, not #{letter}") { letter["to"] == "orders.dead" }
  must("keep what a row says") { rows("SELECT cents FROM orders WHERE id = 7") == [["700"]] }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
