# frozen_string_literal: true

# Behind examples/try: runs one example on a Kafka and, where it has a schema.sql, a PostgreSQL of
# its own, feeds it its sample.rb, and at Ctrl-C shows what it made of that.
require "skep/kafka"
require "tmpdir"
require_relative "postgres"

folder = File.expand_path("../#{ARGV.fetch(0)}", __dir__)
require "#{folder}/sample"

def feed(broker)
  feed = Skep::Kafka::Feed.new(broker.bootstrap_servers, Sample::TOPIC)
  puts "#{feed.publish(Sample.messages)} messages wait in #{Sample::TOPIC}; Ctrl-C ends it"
ensure
  feed&.close
end

# Ctrl-C goes to the swarm too, and is its to obey.
def swarm(env, file)
  trap("INT") { nil }
  skep = File.expand_path("../../exe/skep", __dir__)
  Process.wait(spawn(env, RbConfig.ruby, skep, "run", file))
end

Dir.mktmpdir("skep-try-") do |scratch|
  broker = Skep::Kafka::EmbeddedBroker.start(topics: Sample::TOPICS)
  env = { "BROKERS" => broker.bootstrap_servers, "KAFKA" => JSON.generate(broker.settings),
          **Sample.environment(scratch) }
  if File.exist?("#{folder}/schema.sql")
    postgres = Postgres.start
    postgres.load("#{folder}/schema.sql")
    env["DATABASE_URL"] = postgres.url
  end
  feed(broker)
  swarm(env, "#{folder}/swarm.rb")
  puts Sample.result(scratch, postgres)
ensure
  postgres&.stop
  broker&.stop
end
