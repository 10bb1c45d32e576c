# frozen_string_literal: true

require "scenario/kafka/scenario"

module Incidents
  # A real broker that incidents share, and stop.
  class RealBroker < KafkaScenario::Broker
    def settings
      { "bootstrap.servers" => address, "session.timeout.ms" => 10_000 }
    end

    def create_topic(name, partitions)
      seeder = Skep::Kafka::Testing::TopicSeeder.new(address, name, timeout: Patience.of(30))
      seeder.create_topic(partitions)
    ensure
      seeder&.close
    end

    # Creates the topic, or changes it, so that it takes no message of more bytes than that.
    def small_topic(name, bytes: 1_000)
      require "rdkafka"
      admin = Rdkafka::Config.new("bootstrap.servers" => address).admin
      create_topic(name, 1)
      change = { name: "max.message.bytes", value: bytes.to_s, op_type: 0 }
      resource = { resource_type: 2, resource_name: name, configs: [change] }
      admin.incremental_alter_configs([resource]).wait
    ensure
      admin&.close
    end

    def signal(name)
      pidfd = Skep.pidfd(Integer(File.read(File.join(@directory, "broker.pid"))))
      pidfd.signal(name)
    ensure
      pidfd&.close
    end

    def close = finish
  end

  # The same without Kafka.
  class EmbeddedOne
    def initialize(_directory)
      @broker = Skep::Kafka::EmbeddedBroker.start
    end

    def address = @broker.bootstrap_servers
    def settings = @broker.settings
    def create_topic(name, partitions) = @broker.create_topic(name, partitions)
    def kill = @broker.down!
    def start = @broker.up!
    def close = @broker.stop

    def signal(name)
      pidfd = Skep.pidfd(@broker.pid)
      pidfd.signal(name)
    ensure
      pidfd&.close
    end
  end

  class << self
    def embedded? = KafkaScenario::Broker::PROGRAM.nil?

    # directory: an empty one.
    def broker(directory, embedded: embedded?)
      embedded ? EmbeddedOne.new(directory) : RealBroker.new(directory)
    end
  end
end
