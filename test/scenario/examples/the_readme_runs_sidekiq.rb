# frozen_string_literal: true

require_relative "scenario"
require_relative "../support/page"
require_relative "../../../examples/support/redis"
require "sidekiq"

JOB = <<~RUBY
  class Note
    include Sidekiq::Job
    def perform(number) = Sidekiq.redis { |redis| redis.call("SADD", "notes", number) }
  end
RUBY

# README's second program: Sidekiq in nodes. Jobs of both queues are done, also after a node was
# killed.
ExampleScenario.play do
  redis = RedisServer.start
  at_end { redis.stop }
  Sidekiq.configure_client { |config| config.redis = { url: redis.url } }
  Sidekiq.default_configuration.logger.level = Logger::WARN
  push = lambda do |range|
    range.group_by { |number| %w[default critical][number % 2] }.each do |queue, numbers|
      Sidekiq::Client.push_bulk("class" => "Note", "queue" => queue,
                                "args" => numbers.map { |number| [number] })
    end
  end
  done = -> { Integer(redis.ask("SCARD", "notes")) }
  beside = lambda do |place|
    Dir.mkdir("#{place}/config")
    File.write("#{place}/config/environment.rb", JOB)
  end

  program = Page.new(File.expand_path("../../../README.md", __dir__)).programs.fetch("swarm.rb")
  swarm = run_swarm(program, prepare: beside, env: { "REDIS_URL" => redis.url })
  swarm.await("node_ready", times: 4)
  push.call(0...200)
  swarm.follow("the jobs are done") { done.call == 200 }
  swarm.kill(ready_pids(swarm).first)
  push.call(200...400)
  swarm.follow(-> { "#{done.call} of 400 jobs are done" }) { done.call == 400 }
  stop_well(swarm)
end
