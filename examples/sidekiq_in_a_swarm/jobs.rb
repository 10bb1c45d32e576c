# frozen_string_literal: true

# Calculation, so that it scales by processes and not by threads. Done twice it leaves the same.
class CountPrimes
  include Sidekiq::Job
  sidekiq_options longest: 60 # seconds; who takes longer is stuck

  def perform(number, limit)
    primes = (2..limit).count { |one| (2..Integer.sqrt(one)).none? { |two| (one % two).zero? } }
    Sidekiq.redis { |redis| redis.call("HSET", "primes", number, primes) }
  end
end
