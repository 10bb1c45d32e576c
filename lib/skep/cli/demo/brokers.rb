# frozen_string_literal: true

require "securerandom"
require "socket"

# Where the messages lie: the embedded broker, or a Kafka of the user's, with a topic made for this
# run alone.
#
#   brokers = Brokers.new(plan)
#   brokers.open         # makes the topic, or raises with a sentence
#   brokers.settings     # => what a source needs, as librdkafka's settings
#   brokers.close        # the embedded one goes, or the topic
module Skep
  module CLI
    class Demo
      class Brokers
        SECONDS = 5.0 # to reach one
        # The embedded broker doesn't know a killed node's replacement for the same member, so that
        # each kill makes the group share out anew: within session.timeout.ms - 1000 members must
        # have heard of it and joined; who stays works on meanwhile. Twice that timeout may be no
        # whole number of seconds, or the broker takes those who wait for a dead leader for dead.
        SHARING = { "session.timeout.ms" => 1600, "heartbeat.interval.ms" => 100,
                    "partition.assignment.strategy" => "cooperative-sticky" }.freeze
        private_constant :SECONDS, :SHARING

        attr_reader :topic #: String
        attr_reader :settings #: Hash[String, untyped]

        def initialize(plan) #: (Plan) -> void
          @plan = plan
          @topic = "skep-demo-#{SecureRandom.hex(4)}"
        end

        def open #: () -> void
          check_client
          @plan.brokers ? make_topic : embed
        end

        def bootstrap = settings["bootstrap.servers"] #: () -> String
        def to_s = @plan.brokers || "embedded" #: () -> String

        # Is it still there? Of a user's Kafka the nodes will tell.
        def alive? = @process.nil? || @process.alive? #: () -> bool

        def close #: () -> void
          @process&.close
          @embedded&.stop
          delete_topic if @made
        rescue Errno::EPIPE # it has died before
          nil
        end

        private

        # Is the gem there? Said before anything is started.
        def check_client
          kafka = { "bootstrap.servers" => @plan.brokers || "localhost:0" }
          errors = Kafka::Source.new(kafka:, group: topic, topics: topic).errors
          raise Failed, errors.join("; ") if errors.any?
        end

        def embed
          @embedded = Kafka::EmbeddedBroker.start(topics: { topic => @plan.partitions })
          @process = Skep.pidfd(@embedded.pid)
          @settings = @embedded.settings.merge(SHARING)
        end

        def make_topic
          reach
          @settings = { "bootstrap.servers" => @plan.brokers }
          feed = Kafka::Testing::TopicSeeder.new(bootstrap, topic)
          @made = feed.create_topic(@plan.partitions)
        ensure
          feed&.close
        end

        # A user who may not delete it finds it under its name, skep-demo-….
        def delete_topic
          feed = Kafka::Testing::TopicSeeder.new(bootstrap, topic)
          feed.delete_topic
        ensure
          feed&.close
        end

        # One that answers is enough.
        def reach
          problems = @plan.brokers.split(",").map { |address| problem_of(*address.split(":")) }
          return unless problems.all?

          raise Failed, "no broker answers at #{@plan.brokers} (#{problems.uniq.join("; ")}): " \
                        "start it, or correct --brokers HOST:PORT"
        end

        def problem_of(host, port)
          Socket.tcp(host, Integer(port, 10), connect_timeout: SECONDS, &:close)
          nil
        rescue SystemCallError, SocketError => e # what it was is told
          e.message.sub(/ - .*/, "").downcase
        end
      end
      private_constant :Brokers
    end
  end
end
