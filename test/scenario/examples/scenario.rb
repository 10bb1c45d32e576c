# frozen_string_literal: true

require_relative "../kafka/scenario"
require_relative "../../../examples/support/postgres"
require "fileutils"

# The base of the scenarios of examples/ (`bin/setup examples` installs what they need): copies the
# example's folder, as its users do, and runs it on a Kafka that SKEP_KAFKA_BROKER starts, or else
# on the embedded broker.
#
#   ExampleScenario.play do
#     topics("orders" => 8)
#     feed("orders", [["7", "{…}"]])
#     swarm = run_example("json_to_postgres", "DATABASE_URL" => database.url)
#   end
class ExampleScenario < Scenario
  EXAMPLES = File.expand_path("../../../examples", __dir__)

  # The embedded broker with the methods of a real one.
  class Embedded
    def initialize = @broker = Skep::Kafka::EmbeddedBroker.start
    def address = @broker.bootstrap_servers
    def settings = @broker.settings
    def kill = @broker.stop
    def create(topic, partitions) = @broker.create_topic(topic, partitions)
  end

  class Real < KafkaScenario::Broker
    def settings = {}

    def create(topic, partitions)
      feed = Skep::Kafka::Testing::TopicSeeder.new(address, topic)
      feed.create_topic(partitions)
    ensure
      feed&.close
    end
  end

  def broker
    @broker ||= begin
      place = File.join(directory, "broker").tap { |path| Dir.mkdir(path) }
      broker = KafkaScenario::Broker::PROGRAM ? Real.new(place) : Embedded.new
      broker.tap { at_end { broker.kill } }
    end
  end

  def database = @database ||= Postgres.start.tap { |postgres| at_end { postgres.stop } }

  def topics(partitions) = partitions.each { |name, count| broker.create(name, count) }

  def feed(topic, items)
    feed = Skep::Kafka::Testing::TopicSeeder.new(broker.address, topic)
    feed.publish(items)
  ensure
    feed&.close
  end

  # nodes: their number. kafka: true if the example reads from Kafka. files: added files. options:
  # replacements in its swarm.rb. under: a command that runs it. The rest is its environment.
  def run_example(name, nodes: 2, kafka: true, files: {}, options: {}, under: [], **env)
    if kafka
      env = { "KAFKA_BROKERS" => broker.address,
              "KAFKA_SETTINGS" => JSON.generate(broker.settings), **env }
    end
    copy = lambda do |place|
      FileUtils.cp_r("#{EXAMPLES}/#{name}/.", place)
      files.each { |file, text| File.write("#{place}/#{file}", text) }
      change("#{place}/swarm.rb", options)
    end
    run_swarm(nil, prepare: copy, under:, env: { "SKEP_NODES" => nodes.to_s, **env })
  end

  # Kills a node each time the block returns one of these numbers or more.
  def kill_at(swarm, moments)
    moments.each do |moment|
      swarm.follow("#{moment} done and a node to kill") do
        yield >= moment && ready_pids(swarm).any?
      end
      pid = ready_pids(swarm).first
      swarm.kill(pid)
      swarm.await(GONE) { |event| event["pid"] == pid }
    end
  end

  def change(file, words)
    text = File.read(file)
    words.each { |from, to| text.sub!(from, to) or raise Failed, "no #{from} in #{file}" }
    File.write(file, text)
  end

  def stop_well(swarm)
    status = swarm.stop
    must("end with 0, not #{status}; #{swarm.account}") { status.success? }
  end
end
