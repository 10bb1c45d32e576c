# frozen_string_literal: true

require "json"
require "sidekiq"
require_relative "app"

# Orders and jobs for examples/try; more jobs come by http://localhost:9292/primes/1.
module Sample
  TOPICS = { "orders" => 8, "orders.dead" => 1 }.freeze
  TOPIC = "orders"
  JOBS = 2_000
  ORDERS = 20_000

  class << self
    def environment(_) = {}

    def messages
      Array.new(ORDERS) { |id| [id.to_s, JSON.generate(id:, cents: 100 + (id * 7 % 10_000))] }
    end

    def enqueue(url)
      Sidekiq.configure_client { |config| config.redis = { url: } }
      CountPrimes.perform_bulk(Array.new(JOBS) { |number| [number, 5_000 + number] })
      JOBS
    end

    def result(_, redis)
      jobs, orders = %w[primes ledger].map { |name| redis.ask("HLEN", name) }
      "#{jobs} jobs and #{orders} of #{ORDERS} orders are done"
    end
  end
end
