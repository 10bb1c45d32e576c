# frozen_string_literal: true

require "json"
require "securerandom"
require "socket"

# The topic of one run, on an embedded broker or on the user's Kafka, and the orders of an imaginary
# shop that are written to it.
#
#   topic = Topic.new("127.0.0.1:9092")    # nil: an embedded broker
#   topic.start                            # makes the topic, or raises Failed with a sentence
#   topic.write(0...5_000)                 # orders with these ids; returns when all have arrived
#   topic.settings                         # what a source needs, as librdkafka's settings
#   topic.close                            # stops the embedded broker, or deletes the topic
module Skep
  module Demo
    class Topic
      PARTITIONS = 8
      BYTES = 240 # the largest payload
      OVERHEAD = 80 # bytes of a message in a partition besides: key, headers, the batch around it
      SECONDS = 5.0 # to reach a broker
      # The embedded broker doesn't know the replacement of a killed node as the same member: the
      # group rebalances after each kill, when the session of the old member has timed out. Twice
      # that timeout may be no whole number of seconds, or the broker considers members dead that
      # wait for a dead leader.
      QUICK_REBALANCE = { "session.timeout.ms" => 1600, "heartbeat.interval.ms" => 100,
                          "partition.assignment.strategy" => "cooperative-sticky" }.freeze
      private_constant :SECONDS, :QUICK_REBALANCE

      attr_reader :name, :settings

      def initialize(brokers)
        @brokers = brokers
        @name = "skep-demo-#{SecureRandom.hex(4)}"
      end

      def start
        kafka = { "bootstrap.servers" => @brokers || "localhost:0" }
        # Such as a missing client gem.
        errors = Kafka::Source.new(kafka:, group: name, topics: name).errors
        raise Failed, errors.join("; ") if errors.any?

        @brokers ? reach : embed
        @seeder = Kafka::Testing::TopicSeeder.new(settings["bootstrap.servers"], name,
                                                  kafka: { "enable.idempotence" => true })
        @seeder.create_topic(PARTITIONS) if @brokers
      end

      def write(ids) = @seeder.publish(ids.lazy.map { |id| order(id) })

      def close
        @seeder&.delete_topic if @brokers
        @seeder&.close
        @embedded&.stop
      end

      private

      def embed
        @embedded = Kafka::EmbeddedBroker.start(topics: { name => PARTITIONS })
        @settings = @embedded.settings.merge(QUICK_REBALANCE)
      end

      # One broker that answers is enough.
      def reach
        @settings = { "bootstrap.servers" => @brokers }
        problems = @brokers.split(",").map { |address| problem_of(*address.split(":")) }
        return unless problems.all?

        raise Failed, "no broker answers at #{@brokers} (#{problems.uniq.join("; ")}): " \
                      "start it, or correct --brokers HOST:PORT"
      end

      def problem_of(host, port)
        Socket.tcp(host, Integer(port, 10), connect_timeout: SECONDS, &:close)
        nil
      rescue SystemCallError, SocketError => e
        e.message.sub(/ - .*/, "").downcase
      end

      def order(id)
        customer = format("customer-%03d", id % 1_000)
        items = Array.new(1 + (id % 3)) do |line|
          { goods: "article-#{(id + line) % 9}", count: 1 + (id % 5), cents: 25 + (id % 999) }
        end
        [customer, JSON.generate({ id:, customer:, items: })]
      end
    end
  end
end
