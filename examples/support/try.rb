# frozen_string_literal: true

# The program of examples/try: starts the servers that an example needs, and runs the example on its
# sample.rb. That is a Kafka if the sample has messages, a Redis if it has jobs, and a PostgreSQL if
# there is a schema.sql. With an app.rb the swarm listens on port 9292. At Ctrl-C it prints the
# result.
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
  settings = { "KAFKA_BROKERS" => broker.bootstrap_servers,
               "KAFKA_SETTINGS" => JSON.generate(broker.settings) }
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

# Ignores Ctrl-C: the swarm gets it, too, and stops.
def swarm(env, file)
  trap("INT") { nil }
  listen, skep = %w[skep-guests/exe/skep-listen skep/exe/skep].map do |program|
    File.expand_path("../../#{program}", __dir__)
  end
  port = File.exist?("#{File.dirname(file)}/app.rb") ? [RbConfig.ruby, listen, "9292"] : []
  Process.wait(spawn(env, *port, RbConfig.ruby, skep, "run", file))
end

Dir.mktmpdir("skep-try-") do |scratch|
  servers = []
  servers << kafka if Sample.respond_to?(:messages)
  servers << redis if Sample.respond_to?(:enqueue)
  servers << postgres("#{folder}/schema.sql") if File.exist?("#{folder}/schema.sql")
  env = servers.map(&:last).inject(Sample.environment(scratch), :merge)
  swarm(env, "#{folder}/swarm.rb")
  puts Sample.result(scratch, servers.last.first)
ensure
  servers.each { |server, _| server.stop }
end
