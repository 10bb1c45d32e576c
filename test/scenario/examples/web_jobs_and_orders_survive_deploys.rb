# frozen_string_literal: true

require_relative "scenario"
require_relative "../support/web_client"
require_relative "../../../examples/support/redis"
require "sidekiq"

# examples/everything_in_one_swarm, while it is reloaded and restarted under load, and the nodes of
# Sidekiq and of the Kafka consumer are killed: all requests are answered, all jobs and orders done.
# (A killed Puma would lose its requests in flight, as everywhere.) A reload of a quiet swarm
# succeeds: requests are answered meanwhile, and jobs wait for the resume.
LISTEN = File.expand_path("../../../skep-guests/exe/skep-listen", __dir__)
SECONDS = 120.0 # of a deploy, and until the work is done
WEB = 2 # nodes, which come first

ExampleScenario.play do
  orders, partitions = 3_000, 8
  redis = RedisServer.start
  at_end { redis.stop }
  topics("orders" => partitions, "orders.dead" => 1)
  port = TCPServer.open(0) { |server| server.addr[1] }
  swarm = run_example("everything_in_one_swarm", under: [RbConfig.ruby, LISTEN, port.to_s],
                      "REDIS_URL" => redis.url)
  swarm.await("node_ready", times: 4)
  count = ->(name) { Integer(redis.ask("HLEN", name)) }
  clients = Array.new(2) do |index|
    WebClient.new(port, (index * 1_000_000).step, path: "/primes/") do |number, answer|
      answer.start_with?("HTTP/1.1 202 ") && answer.end_with?("accepted #{number}\n")
    end
  end
  answered = -> { clients.sum { |client| client.accepted.size } }

  sent = 0
  %w[reload restart reload].each do |deploy|
    feed("orders", Array.new(orders / 3) do |index|
      id = sent + index
      [id.to_s, JSON.generate(id:, cents: id * 3), id % partitions]
    end)
    sent += orders / 3
    before = answered.call
    running = Thread.new { swarm.client("shop").call(deploy, timeout: Patience.of(SECONDS)) }
    swarm.follow("the #{deploy} is over", seconds: SECONDS) { !running.alive? }
    must("#{deploy}: #{running.value}; #{swarm.account}") { running.value["done"] == deploy }
    nodes = swarm.status("shop")["nodes"]
    nodes.select { |node| node["id"] >= WEB && node["state"] == "ready" }.each do |node|
      swarm.kill(node["pid"])
      swarm.await(GONE) { |event| event["pid"] == node["pid"] }
    end
    swarm.follow("requests are answered after the #{deploy}", seconds: SECONDS) do
      answered.call >= before + 20
    end
  end

  must("quiet") { swarm.skep("quiet", "shop").nil? }
  running = Thread.new { swarm.client("shop").call("reload", timeout: Patience.of(SECONDS)) }
  swarm.follow("the quiet swarm is reloaded", seconds: SECONDS) { !running.alive? }
  must("reload a quiet swarm: #{running.value}") { running.value["done"] == "reload" }
  done, before = count.call("primes"), answered.call
  swarm.follow("requests are answered", seconds: SECONDS) { answered.call >= before + 20 }
  must("do no job while it is quiet") { count.call("primes") == done }
  must("resume") { swarm.skep("resume", "shop").nil? }
  clients.each(&:stop)

  failures = clients.flat_map(&:failures)
  must("answer all requests, not fail #{failures.size}: #{failures.first(3)}") { failures.empty? }
  jobs = answered.call
  swarm.follow(-> { "#{count.call("primes")} of #{jobs} jobs are done" }, seconds: SECONDS) do
    count.call("primes") == jobs
  end
  swarm.follow(-> { "#{count.call("ledger")} of #{orders} orders are done" }, seconds: SECONDS) do
    count.call("ledger") == orders
  end
  stop_well(swarm)
  puts "#{jobs} requests answered and jobs done, #{orders} orders done"
end
