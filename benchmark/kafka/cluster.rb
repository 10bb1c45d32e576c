# frozen_string_literal: true

require "socket"
require "tmpdir"

# A real broker during a benchmark, with topics full of messages.
#
#   Cluster.refusal                    # => why no broker can run here, or nil
#   Cluster.during do |cluster|
#     cluster.fill("bench", 8, 2_000_000)               # spread by the messages' keys
#     cluster.fill("skewed", 4, 2_000_000, spread: 1)   # one after the other over the first ones
#     cluster.fill("large", 4, 600, spread: 4, bytes: 990_000)
#     cluster.facts("bench")                          # the settings of a program that reads it
#   end
module Skep
  module Benchmarks
    class Kafka
      class Cluster
        PROGRAM = "SKEP_KAFKA_BROKER"
        SECONDS = 90
        BYTES = 90
        DEFAULTS = { "auto.offset.reset" => "earliest" }.freeze # librdkafka's
        # skep's defaults, so that the code is compared and not the settings.
        SETTINGS = { "auto.offset.reset" => "earliest", "queued.min.messages" => "40000",
                     "queued.max.messages.kbytes" => "16384",
                     "fetch.wait.max.ms" => "350", "fetch.queue.backoff.ms" => "10" }.freeze
        # Large queues and fetches, with which librdkafka reads fastest, for much memory.
        LARGE = { "auto.offset.reset" => "earliest", "queued.min.messages" => "1000000",
                  "queued.max.messages.kbytes" => "1048576", "fetch.queue.backoff.ms" => "10",
                  "max.partition.fetch.bytes" => "8388608",
                  "fetch.max.bytes" => "104857600" }.freeze
        GEM = "karafka-rdkafka"
        POLL_BATCH = "0.27" # the first version of the gem that has Consumer#poll_batch
        private_constant :PROGRAM, :SECONDS, :BYTES, :GEM, :POLL_BATCH

        def self.refusal
          require "skep/kafka"
          return Skep::Kafka::EmbeddedBroker.check unless ENV.fetch(PROGRAM, "").empty?

          "needs a real broker: #{PROGRAM} names no program that starts one " \
          "(docs/articles/benchmarks.md)"
        rescue Skep::Kafka::MissingGem => e
          e.message
        end

        # Returns why the gem's poll_batch can't be measured, or nil.
        def self.no_poll_batch
          peer = Peer.find(GEM) or return Peer.missing(GEM)
          return if Gem::Version.new(peer.version) >= Gem::Version.new(POLL_BATCH)

          "#{peer} has no poll_batch: #{POLL_BATCH} or newer, which takes Ruby 3.2"
        end

        # Returns the version of the gem's librdkafka, or nil.
        def self.librdkafka
          peer = Peer.find(GEM) or return
          version = 'require "json"; require "rdkafka/version"; ' \
                    "puts JSON.generate(Rdkafka::LIBRDKAFKA_VERSION)"
          "#{Program.run(version, ruby: peer.flags)} (of #{peer})"
        end

        def self.during
          Dir.mktmpdir("skep-bench-") do |folder|
            cluster = new(folder)
            yield cluster.start
          ensure
            cluster.kill
          end
        end

        attr_reader :address

        def initialize(folder)
          @folder = folder
          @port = free_port
          @address = "127.0.0.1:#{@port}"
        end

        def start
          command("start", @port.to_s)
          self
        rescue Failed # on a busy machine it boots for longer than the program waits
          answers_later? ? self : raise
        end

        # spread: over how many partitions, one after the other; by default their keys decide.
        # bytes: of a payload.
        def fill(topic, partitions, messages, spread: nil, bytes: BYTES)
          feed = Skep::Kafka::Testing::TopicSeeder.new(address, topic)
          feed.create_topic(partitions)
          feed.publish(items(messages, bytes, spread))
        ensure
          feed&.close
        end

        # The figures are there, so a broker that remains doesn't fail it. (Subreaper ends it.)
        def kill
          command("kill")
        rescue Failed => e
          warn("bench: #{e.message}")
        end

        # Returns the name of a new group.
        def group = "skep-bench-#{@groups = @groups.to_i + 1}"

        # Returns the settings of a program that reads as a new group.
        def facts(topic) = { brokers: address, topic:, group: }

        private

        # Returns false if the broker exits, or is still booting at the deadline.
        def answers_later?
          broker = Skep.pidfd(Integer(File.read("#{@folder}/broker/broker.pid")))
          deadline = OS.now + SECONDS
          nil until answers? || OS.now > deadline || broker.wait(timeout: 0.25)
          answers?
        rescue SystemCallError # it has ended, or the program hasn't started it
          false
        ensure
          broker&.close
        end

        def answers?
          TCPSocket.new("127.0.0.1", @port).close
          true
        rescue Errno::ECONNREFUSED
          false
        end

        # Returns a port below the kernel's ephemeral ports. The program uses the next one, too.
        def free_port
          port = Random.rand(10_000..32_000)
          [port, port + 1].each { |one| TCPServer.new("127.0.0.1", one).close }
          port
        rescue Errno::EADDRINUSE
          retry
        end

        def items(count, bytes, spread)
          (0...count).lazy.map do |number|
            payload = JSON.generate(id: number, customer: "c#{number % 5_000}", amount: 19.25,
                                    currency: "EUR").ljust(bytes)
            ["k#{number % 1_000}", payload, *(number % spread if spread)]
          end
        end

        def command(verb, *rest)
          log = "#{@folder}/#{verb}.log"
          pid = Process.spawn(ENV.fetch(PROGRAM), verb, "#{@folder}/broker", *rest,
                              %i[out err] => log, in: File::NULL, pgroup: true)
          pidfd = Skep.pidfd(pid)
          return if pidfd.wait(timeout: SECONDS)&.success?

          raise Failed, "the broker's program can't #{verb} it: #{File.read(log).lines.last}"
        ensure
          pidfd&.close
        end
      end
    end
  end
end
