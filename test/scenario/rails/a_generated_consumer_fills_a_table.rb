# frozen_string_literal: true

require_relative "scenario"

# `rails generate skep:consumer orders --model Order` in an application that has config/skep.rb: its
# test passes as it was written, and the swarm makes a row of each message, once, beside the jobs.
RailsScenario.play do
  install
  write("app/models/order.rb", "class Order < ActiveRecord::Base; end\n")
  write("test/test_helper.rb", <<~RUBY)
    require_relative "../config/environment"
    require "active_support/test_case"
    require "minitest/autorun"
  RUBY
  notes.query("CREATE TABLE orders (id int PRIMARY KEY, cents int)")
  broker.create_topic("orders", 4)
  broker.create_topic("orders.dead", 1)
  in_application(<<~RUBY)
    require "rails/generators"
    2.times { Rails::Generators.invoke("skep:consumer", %w[orders --model Order]) }
  RUBY

  passed = in_application(<<~RUBY)
    $LOAD_PATH << "test"
    require "./test/consumers/orders_consumer_test"
  RUBY
  must("pass the generated test: #{passed}") { passed.match?(/2 runs, .* 0 failures, 0 errors/) }
  skep("check", "config/skep.rb")

  in_application("Order.delete_all")
  swarm = run_application
  feed = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, "orders")
  at_end { feed.close }
  orders = (0...200).map { |id| [id.to_s, JSON.generate(id:, cents: id * 100)] }
  feed.publish(orders + orders.first(10) + [["x", "not JSON"]])
  count = -> { Integer(rows("SELECT count(*) FROM orders").first.first) }
  swarm.follow(-> { "#{count.call} of 200 orders are rows" }) { count.call == 200 }
  letter = swarm.await("dead_lettered")
  must("write it to orders.dead, not #{letter}") { letter["to"] == "orders.dead" }
  must("keep what a row says") { rows("SELECT cents FROM orders WHERE id = 7") == [["700"]] }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
