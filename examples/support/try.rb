# frozen_string_literal: true

# Behind examples/try: runs one example on the servers it needs, all its own: a Redis where its
# sample.rb has jobs for one, else a Kafka, and a PostgreSQL where it has a schema.sql. Feeds it its
# sample, and at Ctrl-C shows what it made of that.
require "skep/kafka"
require "tmpdir"
require_relative "postgres"
require_relative "redis"

folder = File.expand_path("../#{ARGV.fetch(0)}", __dir__)
require "#{folder}/sample"

def kafka
  broker = Skep::Kafka::EmbeddedBroker.start(topics: Sample::TOPICS)
  feed = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, Sample::TOPIC)
  puts "#{feed.publish(Sample.messages)} messages wait in #{Sample::TOPIC}; Ctrl-C ends it"
  settings = { "BROKERS" => broker.bootstrap_servers, "KAFKA" => JSON.generate(broker.settings) }
  [broker, settings]
ensure
  feed&.close
end

def redis
  server = RedisServer.start
  puts "#{Sample.enqueue(server.url)} jobs wait; Ctrl-C ends it"
  [server, { "REDIS_URL" => server.url }]
end

def postgres(schema)
  server = Postgres.start
  server.load(schema)
  [server, { "DATABASE_URL" => server.url }]
end

# Ctrl-C goes to the swarm too, and is its to obey.
def swarm(env, file)
  trap("INT") { nil }
  skep = File.expand_path("../../exe/skep", __dir__)
  Process.wait(spawn(env, RbConfig.ruby, skep, "run", file))
end

Dir.mktmpdir("skep-try-") do |scratch|
  servers = []
  servers << (Sample.respond_to?(:enqueue) ? redis : kafka)
  servers << postgres("#{folder}/schema.sql") if File.exist?("#{folder}/schema.sql")
  env = servers.map(&:last).inject(Sample.environment(scratch), :merge)
  swarm(env, "#{folder}/swarm.rb")
  puts Sample.result(scratch, servers.last.first)
ensure
  servers.each { |server, _| server.stop }
end
