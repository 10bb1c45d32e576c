# frozen_string_literal: true

require_relative "server/process_tree"
require_relative "server/broker"
require_relative "server/server_under_test"
require_relative "server/server_run"

# `bin/bench kafka`: the throughput of reading a topic, and the cost of a message.
#
#   Kafka.new(rounds: 1, messages: 20_000, sums: 2_000, idle: 2).run   # => Report
#
# The program that SKEP_KAFKA_BROKER names starts a real broker for the run (`start DIR PORT`, `stop
# DIR`, `kill DIR`). Without it nothing is measured: the embedded broker keeps at most 5 MiB a
# partition. All subjects read the same messages from the beginning, each time as a new group.
#
# The others are measured with their defaults and with their best: skep's own settings of
# librdkafka, or large fetch queues and large batches (Cluster::LARGE, LARGE_BATCH). Ratios refer to
# the best.
module Skep
  module Benchmarks
    class Kafka < Benchmark
      TITLE = "reading a Kafka topic: messages a second, and what one costs"
      UNIT = "messages/s"
      ROUNDS = 5
      SIZES = { messages: 2_000_000, sums: 100_000, calm: 35, idle: 20, large: 600 }.freeze
      TOPIC = "skep-bench"
      PARTITIONS = 8
      FEW = 4 # partitions, of which one has all messages
      IDLE_PARTITIONS = 20
      SPARSE_PARTITIONS = 200 # of which the first few have messages
      SPARSE = 5
      LARGE_BYTES = 990_000 # as many as librdkafka and brokers take by default
      MOST = 0.9 # share of the messages that is timed, without the first and the last
      READ = "messages of 90 bytes, the payload read"
      JSON_READ = "the payload parsed as JSON"
      SUMS = "a handler that calculates for some 30 µs, nearly all messages still to come"
      SKEWED = "messages of 90 bytes in one partition of four, the others at their end"
      SPARSELY = "messages of 90 bytes in 5 partitions of 200"
      LARGE = "messages of 990 kB"
      CATCH_UP = "4 processes of one group that catch up, messages of 90 bytes"
      IDLE = "20 partitions at their end: wake-ups a second"
      GEM = "karafka-rdkafka"
      EACH = "#{GEM}, each"
      POLL_BATCH = "#{GEM}, poll_batch"
      KARAFKA = "Karafka"
      TUNED = "Karafka, tuned"
      KCAT = "kcat, skep's fetch settings"
      BATCH = 500 # messages of a batch of skep's
      LARGE_BATCH = 5_000
      private_constant :TOPIC, :PARTITIONS, :FEW, :IDLE_PARTITIONS, :SPARSE_PARTITIONS, :SPARSE,
                       :LARGE_BYTES, :MOST, :READ, :JSON_READ, :SUMS, :SKEWED, :SPARSELY, :LARGE,
                       :CATCH_UP, :IDLE, :GEM, :EACH, :POLL_BATCH, :KARAFKA, :TUNED, :KCAT, :BATCH,
                       :LARGE_BATCH

      def subjects
        [*kcats, *readings, *parsings, *calculations, *skewed, *sparse, *large, *catching_up, *idle]
      end

      def goals(rows)
        [*rate_goals(rows), *cost_goals(rows), *fetch_goals(rows),
         Goal.at_least("calculating, 2 nodes against 1, of what 2 bare processes gain",
                       scaling(rows), 0.9),
         Goal.at_most("calculating, CPU a message with 2 nodes, of that with 1",
                      rows.ratio("2 nodes: skep", "1 node: skep", column: "CPU µs"), 1.1),
         Goal.at_most("1 node far behind: peak MiB",
                      rows.median("1 node: skep", column: "peak MiB"), 256)]
      end

      def around
        return yield if refusal

        Cluster.during do |cluster|
          @cluster = cluster
          fill(measured_topics)
          yield
        end
      end

      private

      def refusal = @refusal ||= Cluster.refusal

      # Returns the topics that are read by the subjects that were asked for.
      def measured_topics
        @topics = {}
        asked = here_and_there.reject { |subject| subject.skipped || unasked?(subject) }
        @topics.values_at(*asked.map(&:name)).compact.uniq
      end

      def fill(topics)
        topics.each do |topic|
          @progress&.start("fills the topic #{topic}")
          partitions, messages, more = shape(topic)
          @cluster.fill(topic, partitions, messages, **more)
          @progress&.finish("#{messages} messages")
        end
      end

      # Returns the arguments of Cluster#fill for a topic.
      def shape(topic)
        case topic.delete_prefix(TOPIC)
        when "" then [PARTITIONS, size(:messages), {}]
        when "-even" then [FEW, size(:messages), { spread: FEW }]
        when "-skewed" then [FEW, size(:messages), { spread: 1 }]
        when "-sparse" then [SPARSE_PARTITIONS, size(:messages), { spread: SPARSE }]
        when "-large" then [FEW, size(:large), { spread: FEW, bytes: LARGE_BYTES }]
        when "-idle" then [IDLE_PARTITIONS, IDLE_PARTITIONS, { spread: IDLE_PARTITIONS }]
        end
      end

      # Adds the version of librdkafka that the Ruby programs load. kcat has its own.
      def versions(rows)
        ruby = rows.any? { |row| row.subject.version.to_s.start_with?("karafka") }
        library = Cluster.librdkafka if ruby
        library ? { **super, "librdkafka" => library } : super
      end

      def kcats
        { "kcat" => {}, KCAT => Cluster::SETTINGS, "kcat, large fetch queues" => Cluster::LARGE,
          "kcat, large fetch queues, nothing printed" => Cluster::LARGE }.map do |name, settings|
          format = name.end_with?("nothing printed") ? "" : "%s\\n"
          topic_of(name, TOPIC)
          Subject.new(name, group: READ, against: TUNED, settings:,
                            version: Kcat.version, skipped: refusal || Kcat.missing) do
            Kcat.new(@cluster.address, TOPIC, size(:messages), format, settings).figures
          end
        end
      end

      def readings
        [reading("skep's reader alone, nothing made", "plain", work: "size"),
         reading("skep", "swarm"),
         reading("skep, batch.payloads", "swarm", work: "payloads"),
         reading("skep, large fetch queues", "swarm", settings: Cluster::LARGE),
         reading("skep, on its Ruby fallbacks", "plain", pure: "1"),
         *each_readings(EACH),
         *batch_readings(POLL_BATCH),
         *karafkas(KARAFKA)]
      end

      def parsings
        facts = { group: JSON_READ, against: "JSON: #{TUNED}", work: "json" }
        [reading("JSON: skep", "swarm", **facts),
         *each_readings("JSON: #{EACH}", **facts),
         *batch_readings("JSON: #{POLL_BATCH}", **facts),
         *karafkas("JSON: #{KARAFKA}", **facts)]
      end

      # With librdkafka's defaults, with skep's fetch settings, and with large ones.
      def each_readings(name, **facts)
        [reading("#{name}, defaults", "poll", settings: Cluster::DEFAULTS, **facts),
         reading(name, "poll", **facts),
         reading("#{name}, tuned", "poll", settings: Cluster::LARGE, **facts)]
      end

      # The same, with the gem's own batches, skep's, and large ones.
      def batch_readings(name, **facts)
        [reading("#{name}, defaults", "poll_batch", settings: Cluster::DEFAULTS, **facts),
         reading(name, "poll_batch", batch: BATCH, **facts),
         reading("#{name}, tuned", "poll_batch", batch: LARGE_BATCH, settings: Cluster::LARGE,
                                                 **facts)]
      end

      # With its defaults and librdkafka's, with skep's batches and fetch settings, and with large
      # ones.
      def karafkas(name, **facts)
        facts = { gem: "karafka", **facts }
        [reading(name, "karafka", settings: {}, **facts),
         reading("#{name}, skep's settings", "karafka", batch: BATCH, **facts),
         reading("#{name}, tuned", "karafka", batch: LARGE_BATCH, settings: Cluster::LARGE,
                                              **facts)]
      end

      def calculations
        facts = { group: SUMS, against: "1 node: skep", messages: size(:sums), work: "sums" }
        [reading("1 node: skep", "swarm", **facts),
         reading("2 nodes: skep", "swarm", workers: 2, **facts),
         reading("1 process, no Kafka", "bare", gem: nil, **facts),
         reading("2 processes, no Kafka", "bare", gem: nil, workers: 2, **facts),
         reading("1 process: #{KARAFKA}", "karafka", gem: "karafka", **facts)]
      end

      # Slow subjects read fewer of the messages.
      def skewed
        facts = { group: SKEWED, against: "skewed: #{EACH}", topic: "#{TOPIC}-skewed" }
        some = size(:messages) * MOST
        [reading("skewed: skep", "swarm", **facts),
         reading("skewed: skep, held 100 ms", "swarm", **facts, settings: held(100)),
         reading("skewed: #{EACH}", "poll", **facts, messages: some / 3),
         reading("the same spread evenly: skep", "swarm", **facts, topic: "#{TOPIC}-even")]
      end

      def sparse
        facts = { group: SPARSELY, against: "sparse: #{EACH}", topic: "#{TOPIC}-sparse" }
        [reading("sparse: skep", "swarm", **facts),
         reading("sparse: #{EACH}", "poll", **facts, messages: size(:messages) * MOST / 3)]
      end

      def large
        facts = { group: LARGE, against: "990 kB: #{EACH}", topic: "#{TOPIC}-large",
                  messages: size(:large) * MOST }
        [reading("990 kB: skep", "swarm", **facts),
         reading("990 kB: #{EACH}", "poll", **facts)]
      end

      def catching_up
        facts = { group: CATCH_UP, against: "4 at once: #{EACH}", workers: 4 }
        some = size(:messages) * MOST
        [reading("4 at once: skep", "swarm", **facts, measure: race(some)),
         reading("4 at once: #{EACH}", "poll", **facts, measure: race(some / 3))]
      end

      def race(messages) = ->(run) { Race.new(run, messages, starters: 1).figures }

      def idle
        facts = { group: IDLE, against: "idle: #{EACH}", topic: "#{TOPIC}-idle", every: 1 }
        measure = ->(run) { Idle.new(run, size(:idle), calm: size(:calm)).figures }
        [reading("idle: skep", "swarm", **facts, measure:),
         reading("idle: skep, held 100 ms", "swarm", **facts, measure:, settings: held(100)),
         reading("idle: #{EACH}", "poll", **facts, measure:)]
      end

      def held(milliseconds)
        { **Cluster::SETTINGS, "fetch.wait.max.ms" => milliseconds.to_s }
      end

      # Returns a subject that reads. `more` are settings for its program.
      def reading(name, program, gem: GEM, group: READ, against: TUNED, topic: TOPIC,
                  messages: size(:messages) * MOST, measure: nil, **more)
        ours = %w[swarm plain].include?(program)
        why = refusal || (Cluster.no_poll_batch if program == "poll_batch")
        return Subject.new(name, group:, against:, ours:, skipped: why) if why

        topic_of(name, topic) unless program == "bare"

        server = ServerUnderTest.new(name, "kafka/readers/#{program}", gem:)
        measure ||= ->(run) { Race.new(run, messages).figures }
        settings = { workers: 1, work: "payload", settings: Cluster::SETTINGS,
                     every: (messages / 200).ceil, **more }
        wishes = lambda do
          lib = Checkout.libraries # the program of an older checkout takes one
          { **settings, lib: lib.one? ? lib.first : lib, **@cluster.facts(topic) }
        end
        server.subject(name, wishes, settings:, group:, against:, ours:, &measure)
      end

      def topic_of(name, topic)
        @topics[name] = topic if @topics
      end

      # Other programs may use the cores, and a hyperthread is no core. Two processes that only
      # calculate show what two processes can gain.
      def scaling(rows)
        nodes = rows.ratio("2 nodes: skep", "1 node: skep")
        bare = rows.ratio("2 processes, no Kafka", "1 process, no Kafka")
        nodes / bare if nodes && bare
      end

      def rate_goals(rows)
        [Goal.at_least("skep reads so many times what #{TUNED}, does",
                       rows.ratio("skep", TUNED), 2.2),
         Goal.at_least("and of what kcat does with the same fetch settings",
                       rows.ratio("skep", KCAT), 0.8),
         Goal.at_least("and so many times what #{POLL_BATCH}, does with them",
                       rows.ratio("skep", POLL_BATCH), 3.5),
         Goal.at_least("parsing JSON, so many times what #{TUNED}, does",
                       rows.ratio("JSON: skep", "JSON: #{TUNED}"), 1.5)]
      end

      def fetch_goals(rows)
        skewed = "skewed: skep"
        [Goal.at_least("one partition of four behind, of the rate of even ones",
                       rows.ratio(skewed, "the same spread evenly: skep"), 0.5),
         Goal.at_least("and so many times what #{GEM}'s each does",
                       rows.ratio(skewed, "skewed: #{EACH}"), 3),
         Goal.at_most("20 idle partitions: wake-ups a second for reading",
                      rows.median("idle: skep"), 5),
         Goal.at_most("and CPU of the node, % of a processor",
                      rows.median("idle: skep", column: "CPU %"), 1)]
      end

      def cost_goals(rows)
        [Goal.at_most("Ruby's threads: µs a message",
                      rows.median("skep", column: "Ruby µs"), 0.6),
         Goal.at_most("all CPU of the process, of tuned Karafka's",
                      rows.ratio("skep", TUNED, column: "CPU µs"), 0.5)]
      end
    end
  end
end

require_relative "kafka/cluster"
require_relative "kafka/idle"
require_relative "kafka/kcat"
require_relative "kafka/race"
