# frozen_string_literal: true

require "sidekiq"

# A calculation. It is idempotent.
class CountPrimes
  include Sidekiq::Job

  def perform(number, limit)
    primes = (2..limit).count { |one| (2..Integer.sqrt(one)).none? { |two| (one % two).zero? } }
    Sidekiq.redis { |redis| redis.call("HSET", "primes", number, primes) }
  end
end

# Orders from Kafka. An order may come twice.
module Orders
  def self.add(orders)
    cents = orders.flat_map { |order| order.values_at("id", "cents") }
    Sidekiq.redis { |redis| redis.call("HSET", "ledger", *cents) }
  end
end

# GET /primes/7 enqueues a job; every other path shows how much is done.
APP = lambda do |env|
  if (number = env["PATH_INFO"][%r{\A/primes/(\d{1,9})\z}, 1])
    CountPrimes.perform_async(number.to_i, 1_000)
    next [202, { "content-type" => "text/plain" }, ["accepted #{number}\n"]]
  end

  done = %w[primes ledger].map { |name| Sidekiq.redis { |redis| redis.call("HLEN", name) } }
  text = "#{done.first} jobs and #{done.last} orders by node #{ENV.fetch("SKEP_NODE_ID")}\n"
  [200, { "content-type" => "text/plain" }, [text]]
end
