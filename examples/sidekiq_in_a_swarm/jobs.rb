# frozen_string_literal: true

# A calculation, which scales by processes and not by threads. It is idempotent.
class CountPrimes
  include Sidekiq::Job
  sidekiq_options longest: 60 # seconds; a job that takes longer is stuck

  def perform(number, limit)
    primes = (2..limit).count { |one| (2..Integer.sqrt(one)).none? { |two| (one % two).zero? } }
    Sidekiq.redis { |redis| redis.call("HSET", "primes", number, primes) }
  end
end
