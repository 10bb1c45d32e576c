# frozen_string_literal: true

# The broker of a run, and a new topic for each measurement. The broker is a real one if
# SKEP_KAFKA_BROKER names a program that starts one, else an embedded one, which has no static
# members.
#
#   Topics.during do |topics|
#     topics.create(4, quick: false)   # => the settings of a program that reads it
#   end
#   Topics.broker                      # => "embedded, without static members"
module Skep
  module Benchmarks
    class Faults
      class Topics
        # A reader's settings that notice a lost process soonest: 6 s are the least that brokers
        # accept by default.
        QUICK = { "group.instance.id" => "skep-bench", "session.timeout.ms" => 6_000,
                  "max.poll.interval.ms" => 6_000 }.freeze

        class << self
          def broker
            Kafka::Cluster.refusal ? "embedded, without static members" : "Apache Kafka"
          end

          def during(&block)
            return embedded(&block) if Kafka::Cluster.refusal

            Kafka::Cluster.during do |cluster|
              yield new({ "bootstrap.servers" => cluster.address })
            end
          end

          private

          def embedded
            broker = Skep::Kafka::EmbeddedBroker.start
            yield new(broker.settings) { |*topic| broker.create_topic(*topic) }
          ensure
            broker&.stop
          end
        end

        # kafka: the settings that each client of the broker needs.
        def initialize(kafka, &create)
          @kafka, @create = kafka, create
          @count = 0
        end

        # Creates a topic, and one for its dead letters. Returns the settings of its readers.
        def create(partitions, quick:)
          topic = "skep-bench-#{@count += 1}"
          dead = "#{topic}-dead"
          { topic => partitions, dead => 1 }.each { |name, number| create_one(name, number) }
          { topic:, dead:, group: topic, kafka: { **(quick ? QUICK : {}), **@kafka } }
        end

        private

        def create_one(topic, partitions)
          return @create.call(topic, partitions) if @create

          seeder = Skep::Kafka::Testing::TopicSeeder.new(@kafka.fetch("bootstrap.servers"), topic)
          seeder.create_topic(partitions)
        ensure
          seeder&.close
        end
      end
      private_constant :Topics
    end
  end
end
