# frozen_string_literal: true

# `skep kafka broker TOPIC … -- COMMAND`: runs a command against an embedded broker. What follows --
# is the command.
module Skep
  module Kafka
    class Command
      class Broker < CLI::Command
        SUMMARY = "Run a command against an embedded broker with these topics"
        USAGE = "skep kafka broker TOPIC[:PARTITIONS] … -- COMMAND"
        EXAMPLES = ["seq 1000 | skep kafka broker orders -- skep run swarm.rb",
                    "skep kafka broker orders:8 orders.dead -- rake test"].freeze

        def initialize(argv, out:, err:)
          own = argv.take_while { |word| word != "--" }
          @command = argv.drop(own.size + 1)
          super(own, out:, err:)
        end

        private

        def perform
          require "skep"
          require "skep/kafka"
          topics = [argument("TOPIC"), *arguments]
          raise UsageError, "missing argument: COMMAND: #{usage}" if @command.empty?

          EmbeddedBroker.check
          EmbeddedBrokerRun.new(topics, @command, input: $stdin, err:).run
        end
      end
    end
  end
end
