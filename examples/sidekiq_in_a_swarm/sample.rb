# frozen_string_literal: true

require "sidekiq"
require_relative "jobs"

# Jobs for examples/try: each counts the primes up to a number.
module Sample
  JOBS = 2_000

  class << self
    def environment(_) = {}

    def enqueue(url)
      Sidekiq.configure_client { |config| config.redis = { url: } }
      CountPrimes.perform_bulk(Array.new(JOBS) { |number| [number, 5_000 + number] })
      JOBS
    end

    def result(_, redis) = "#{redis.ask("HLEN", "primes")} of #{JOBS} jobs are done"
  end
end
