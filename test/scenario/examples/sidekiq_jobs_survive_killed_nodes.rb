# frozen_string_literal: true

require_relative "scenario"
require_relative "../../../examples/support/redis"
require "sidekiq"
require_relative "../../../examples/sidekiq_in_a_swarm/jobs"

# Jobs that hang, kill their process or their thread, or take long.
HARM = <<~RUBY
  #{HANG}
  require_relative "jobs"

  class Stuck
    include Sidekiq::Job
    sidekiq_options longest: 1

    def perform
      first = Sidekiq.redis { |redis| redis.call("INCR", "stuck") } == 1
      hang if first
    end
  end

  class Kills
    include Sidekiq::Job
    def perform = Process.kill(:KILL, Process.pid)
  end

  class Quits
    include Sidekiq::Job
    def perform = Thread.current.kill
  end

  class Slow
    include Sidekiq::Job

    def perform
      Sidekiq.redis { |redis| redis.call("INCR", "slow") }
      IO.select(nil, nil, nil, 60)
    end
  end
RUBY

# examples/sidekiq_in_a_swarm, while nodes are killed, one is stuck, a job kills its nodes, Redis
# crashes and the swarm is stopped during a job: each job is done, back in its queue or in the dead
# set.
ExampleScenario.play do
  jobs, limit = 400, 6_000
  redis = RedisServer.start
  at_end { redis.stop }
  Sidekiq.configure_client { |config| config.redis = { url: redis.url } }
  Sidekiq.default_configuration.logger.level = Logger::WARN
  push = ->(name, **options) { Sidekiq::Client.push("class" => name, "args" => [], **options) }
  done = -> { Integer(redis.ask("HLEN", "primes")) }

  CountPrimes.perform_bulk(Array.new(jobs) { |number| [number, limit + number] })
  quick = { "liveness_timeout: 30" => "liveness_timeout: 2, kill_timeout: 1" }
  swarm = run_example("sidekiq_in_a_swarm", kafka: false, files: { "harm.rb" => HARM },
                      options: { **quick, "\#{__dir__}/jobs" => "\#{__dir__}/harm" },
                      "REDIS_URL" => redis.url, "STOP_TIMEOUT" => "7")
  kill_at(swarm, [1, 100]) { done.call }

  push.call("Stuck", "longest" => 1)
  hung = swarm.await("node_hung")
  must("name the stuck job, not #{hung["in_flight"]}") { hung["in_flight"].to_s.include?("Stuck") }
  redis.crash
  push.call("Kills")
  swarm.follow("the killing job is in the dead set") { redis.ask("ZCARD", "dead") == "1" }
  dead = redis.ask("ZRANGE", "dead", 0, 0)
  must("tell the causes in the dead set: #{dead}") { dead.match?(/JobCrashed.*alone in flight/) }
  push.call("Quits")
  swarm.follow("the job that ends its thread is there, too") do
    redis.ask("ZRANGE", "dead", 0, -1).include?("Quits")
  end
  swarm.follow("all other jobs are done") do
    done.call == jobs && redis.ask("GET", "stuck").to_i > 1
  end

  push.call("Slow")
  swarm.follow("a long job is in progress") { redis.ask("GET", "slow") == "1" }
  stop_well(swarm)

  primes = (2..limit).select { |one| (2..Integer.sqrt(one)).none? { |two| (one % two).zero? } }.size
  must("count the primes correctly") { Integer(redis.ask("HGET", "primes", 0)) == primes }
  waiting = redis.ask("LRANGE", "queue:default", 0, -1).lines
  must("push back the long job, and no other: #{waiting}") do
    waiting.one? && waiting.first.include?("Slow")
  end
  must("have no job in progress at the end") { redis.ask("HLEN", "skep:owners") == "0" }
end
