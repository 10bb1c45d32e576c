# frozen_string_literal: true

require "skep/cli/bench/kin"
require "skep/cli/bench/broker"
require "skep/cli/bench/keeper"
require "skep/cli/bench/keeping"

# `skep bench kafka`: how fast a topic is read, and what a message costs.
#
#   Kafka.new(rounds: 1, messages: 20_000, sums: 2_000, idle: 2).run   # => Report
#
# A real broker is started for the run by the program that SKEP_KAFKA_BROKER names (`start DIR
# PORT`, `stop DIR`, `kill DIR`); without it there is nothing to measure: the embedded one keeps no
# more than 5 MiB a partition. All read the same messages, each time as a new group from the
# beginning, with the same settings of librdkafka's.
module Skep
  module CLI
    class Bench
      class Kafka < Contest
        TITLE = "reading a Kafka topic: messages a second, and what one costs"
        UNIT = "messages/s"
        ROUNDS = 5
        SIZES = { messages: 2_000_000, sums: 100_000, idle: 20 }.freeze
        TOPIC = "skep-bench"
        PARTITIONS = 8
        FEW = 4 # partitions, of which one has all messages
        IDLE_PARTITIONS = 20
        MOST = 0.9 # of them are timed: the first and the last are left out
        READ = "messages of 90 bytes, the payload read"
        JSON_READ = "the payload parsed as JSON"
        SUMS = "a handler that calculates for some 30 µs, nearly all messages still to come"
        SKEWED = "messages of 90 bytes in one partition of four, the others at their end"
        IDLE = "20 partitions at their end: wake-ups a second"
        GEM = "karafka-rdkafka"
        KARAFKA = "Karafka"
        private_constant :TOPIC, :PARTITIONS, :FEW, :IDLE_PARTITIONS, :MOST, :READ, :JSON_READ,
                         :SUMS, :SKEWED, :IDLE, :GEM, :KARAFKA

        def contenders = [*kcats, *readings, *parsings, *calculations, *skewed, *idle]

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
            fill
            yield
          end
        end

        private

        def refusal = @refusal ||= Cluster.refusal

        def fill
          @cluster.fill(TOPIC, PARTITIONS, size(:messages))
          @cluster.fill("#{TOPIC}-even", FEW, size(:messages)) { |number| number % FEW }
          @cluster.fill("#{TOPIC}-skewed", FEW, size(:messages)) { 0 }
          @cluster.fill("#{TOPIC}-idle", IDLE_PARTITIONS, IDLE_PARTITIONS) { |number| number }
        end

        def kcats
          { "kcat" => "%s\\n", "kcat, nothing printed" => "" }.map do |name, format|
            Contender.new(name, group: READ, against: KARAFKA,
                                version: Kcat.version, skipped: refusal || Kcat.missing) do
              Kcat.new(@cluster.address, TOPIC, size(:messages), format).figures
            end
          end
        end

        def readings
          [reading("skep's reader alone, nothing made", "plain", work: "size"),
           reading("skep", "swarm"),
           reading("skep, batch.payloads", "swarm", work: "payloads"),
           reading("skep, on its Ruby fallbacks", "plain", pure: "1"),
           reading("#{GEM}, each", "poll"),
           reading(KARAFKA, "karafka", gem: "karafka"),
           reading("Karafka, 500 messages a batch", "karafka", gem: "karafka", batch: 500),
           reading("Karafka, with librdkafka's settings", "karafka", gem: "karafka", settings: {})]
        end

        def parsings
          facts = { group: JSON_READ, against: "JSON: #{KARAFKA}" }
          [reading("JSON: skep", "swarm", work: "json", **facts),
           reading("JSON: #{GEM}, each", "poll", work: "json", **facts),
           reading("JSON: #{KARAFKA}", "karafka", gem: "karafka", work: "json", **facts)]
        end

        def calculations
          facts = { group: SUMS, against: "1 node: skep", messages: size(:sums), work: "sums" }
          [reading("1 node: skep", "swarm", **facts),
           reading("2 nodes: skep", "swarm", workers: 2, **facts),
           reading("1 process, no Kafka", "bare", gem: nil, **facts),
           reading("2 processes, no Kafka", "bare", gem: nil, workers: 2, **facts),
           reading("1 process: #{KARAFKA}", "karafka", gem: "karafka", **facts)]
        end

        # Slow contenders read fewer of the messages.
        def skewed
          facts = { group: SKEWED, against: "skewed: #{GEM}, each", topic: "#{TOPIC}-skewed" }
          some = size(:messages) * MOST
          [reading("skewed: skep", "swarm", **facts),
           reading("skewed: skep, held 500 ms", "swarm", **facts, messages: some / 12,
                                                         settings: held(500)),
           reading("skewed: #{GEM}, each", "poll", **facts, messages: some / 3),
           reading("the same spread evenly: skep", "swarm", **facts, topic: "#{TOPIC}-even")]
        end

        def idle
          facts = { group: IDLE, against: "idle: #{GEM}, each", topic: "#{TOPIC}-idle", every: 1 }
          measure = ->(kept) { Idle.new(kept, size(:idle)).figures }
          [reading("idle: skep", "swarm", **facts, measure:),
           reading("idle: skep, held 10 ms", "swarm", **facts, measure:, settings: held(10)),
           reading("idle: #{GEM}, each", "poll", **facts, measure:)]
        end

        def held(milliseconds)
          { **Cluster::SETTINGS, "fetch.wait.max.ms" => milliseconds.to_s }
        end

        # One who reads; `more` are wishes that its program looks up.
        def reading(name, program, gem: GEM, group: READ, against: KARAFKA, topic: TOPIC,
                    messages: size(:messages) * MOST, measure: nil, **more)
          return Contender.new(name, group:, against:, skipped: refusal) if refusal

          keeper = Keeper.new(name, "../kafka/readers/#{program}", gem:)
          measure ||= ->(kept) { Race.new(kept, messages).figures }
          wishes = { workers: 1, work: "payload", settings: Cluster::SETTINGS,
                     every: (messages / 200).ceil, **more }
          keeper.contender(name, {}, group:, against:) do
            Keeping.of(keeper, **@cluster.facts(topic), **wishes, &measure)
          end
        end

        # Others may have their part of the cores, and a hyperthread is no core: what two processes
        # can gain is shown by two that do nothing else.
        def scaling(rows)
          nodes = rows.ratio("2 nodes: skep", "1 node: skep")
          bare = rows.ratio("2 processes, no Kafka", "1 process, no Kafka")
          nodes / bare if nodes && bare
        end

        def rate_goals(rows)
          [Goal.at_least("skep reads so many times what Karafka does",
                         rows.ratio("skep", KARAFKA), 2.2),
           Goal.at_least("and of what kcat does", rows.ratio("skep", "kcat"), 0.8),
           Goal.at_least("parsing JSON, so many times what Karafka does",
                         rows.ratio("JSON: skep", "JSON: #{KARAFKA}"), 1.5)]
        end

        def fetch_goals(rows)
          skewed = "skewed: skep"
          [Goal.at_least("one partition of four behind, of the rate of even ones",
                         rows.ratio(skewed, "the same spread evenly: skep"), 0.5),
           Goal.at_least("and so many times what #{GEM}'s each does",
                         rows.ratio(skewed, "skewed: #{GEM}, each"), 3),
           Goal.at_most("20 idle partitions: wake-ups a second for reading",
                        rows.median("idle: skep"), 5)]
        end

        def cost_goals(rows)
          [Goal.at_most("Ruby's threads: µs a message",
                        rows.median("skep", column: "Ruby µs"), 0.6),
           Goal.at_most("all CPU of the process, of Karafka's",
                        rows.ratio("skep", KARAFKA, column: "CPU µs"), 0.5)]
        end
      end
    end
  end
end

require "skep/cli/bench/kafka/cluster"
require "skep/cli/bench/kafka/idle"
require "skep/cli/bench/kafka/kcat"
require "skep/cli/bench/kafka/race"
