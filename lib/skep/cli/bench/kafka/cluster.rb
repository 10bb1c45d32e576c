# frozen_string_literal: true

require "socket"
require "tmpdir"

# A real broker for the time of a bench, with topics full of messages.
#
#   Cluster.refusal                    # => why there can be none here, or nil
#   Cluster.during do |cluster|
#     cluster.fill("bench", 8, 2_000_000)             # spread over its partitions
#     cluster.fill("skewed", 4, 2_000_000) { 0 }      # the block chooses the partition
#     cluster.facts("bench")                          # what a program needs that reads it
#   end
module Skep
  module CLI
    class Bench
      class Kafka
        class Cluster
          PROGRAM = "SKEP_KAFKA_BROKER"
          SECONDS = 90
          BYTES = 90
          # What skep sets where a user sets nothing; for all, so that code is compared with code.
          SETTINGS = { "auto.offset.reset" => "earliest", "queued.min.messages" => "10000",
                       "queued.max.messages.kbytes" => "16384",
                       "fetch.queue.backoff.ms" => "10" }.freeze
          private_constant :PROGRAM, :SECONDS, :BYTES

          def self.refusal #: () -> String?
            require "skep/kafka"
            return Skep::Kafka::EmbeddedBroker.check unless ENV.fetch(PROGRAM, "").empty?

            "needs a real broker: #{PROGRAM} names no program that starts one (docs/bench.md)"
          rescue Skep::Kafka::GemMissing => e
            e.message
          end

          def self.during #: () { (Cluster) -> untyped } -> untyped
            Dir.mktmpdir("skep-bench-") do |folder|
              cluster = new(folder)
              yield cluster.start
            ensure
              cluster.kill
            end
          end

          attr_reader :address #: String

          def initialize(folder) #: (String) -> void
            @folder = folder
            @port = free_port
            @address = "127.0.0.1:#{@port}"
          end

          def start #: () -> self
            command("start", @port.to_s)
            self
          end

          # The block chooses the partition by a message's number; without it the keys do.
          #: (String, Integer, Integer) ?{ (Integer) -> Integer } -> void
          def fill(topic, partitions, messages, &)
            feed = Skep::Kafka::Testing::TopicSeeder.new(address, topic)
            feed.create_topic(partitions)
            feed.publish(items(messages, &))
          ensure
            feed&.close
          end

          def kill = command("kill") #: () -> void

          # A group that has read nothing.
          def group = "skep-bench-#{@groups = @groups.to_i + 1}" #: () -> String

          # What a program has to know that reads, as a new group.
          #: (String) -> Hash[Symbol, String]
          def facts(topic) = { brokers: address, topic:, group: }

          private

          # The program takes the port after it, too. Below those that the kernel gives to whoever
          # connects.
          def free_port
            port = Random.rand(10_000..32_000)
            [port, port + 1].each { |one| TCPServer.new("127.0.0.1", one).close }
            port
          rescue Errno::EADDRINUSE
            retry
          end

          def items(count)
            (0...count).lazy.map do |number|
              payload = JSON.generate(id: number, customer: "c#{number % 5_000}", amount: 19.25,
                                      currency: "EUR").ljust(BYTES)
              ["k#{number % 1_000}", payload, *(yield number if block_given?)]
            end
          end

          def command(verb, *rest)
            said = "#{@folder}/#{verb}.said"
            pid = Process.spawn(ENV.fetch(PROGRAM), verb, "#{@folder}/broker", *rest,
                                %i[out err] => said, in: File::NULL, pgroup: true)
            pidfd = Skep.pidfd(pid)
            return if pidfd.wait(timeout: SECONDS)&.success?

            raise Failed, "the broker didn't #{verb}: #{File.read(said).lines.last}"
          ensure
            pidfd&.close
          end
        end
        private_constant :Cluster
      end
    end
  end
end
