# frozen_string_literal: true

require_relative "kafka"
require_relative "supervise"

# `bin/bench faults`, and `bin/demo --against karafka`: what becomes of a topic's messages when a
# consumer is killed or hangs, a message kills its consumer, or the supervisor is killed.
#
#   Faults.new(rounds: 1, patience: 60).run   # => Report
#   Faults.new(defaults: false).run           # each side with its best settings only
#
# skep and Karafka's swarm run two processes each, beside one broker (Topics). A message is written
# every 20 ms. The best settings of Karafka's swarm are static members, a check and a restart of
# processes each second, a session and a poll interval of six seconds, and a commit after each
# message. skep's are a liveness_timeout of 2 s, where it matters.
module Skep
  module Benchmarks
    class Faults < Benchmark
      TITLE = "a topic's messages while consumers fail"
      UNIT = "s"
      ROUNDS = 1
      SIZES = { patience: 60, calm: 6, start: 120, defaults: true }.freeze
      PARTITIONS = 4
      WORKERS = 2
      KILLED = "kill -9 of a consumer process: the longest wait of a message"
      HUNG = "a thread that hangs: the longest wait of a message"
      POISON = "a message that kills its process: the longest wait of another message"
      ORPHANS = "kill -9 of the supervisor: until its processes have ended"
      STUCK = "the same, with a thread that hangs"
      OURS = ServerUnderTest.new("skep", "faults/programs/swarm", gem: "karafka-rdkafka",
                                 tuned: { liveness_timeout: 2, kill_timeout: 1 })
      KARAFKA = ServerUnderTest.new("Karafka's swarm", "faults/programs/karafka", gem: "karafka",
                                    tuned: ServerUnderTest::KARAFKA_TUNED)
      private_constant :PARTITIONS, :WORKERS, :KILLED, :HUNG, :POISON, :ORPHANS, :STUCK, :OURS,
                       :KARAFKA

      def subjects
        [*both("killed", KILLED, :killed), *both("hung", HUNG, :hung, settings: OURS.tuned),
         *both("poison", POISON, :poison), *both("supervisor killed", ORPHANS, :orphaned),
         *both("supervisor killed, stuck", STUCK, :orphaned_and_stuck)]
      end

      def around(&block)
        return yield if refusal

        Topics.during { |topics| (@topics = topics) && block.call }
      end

      private

      def refusal
        require "skep/kafka"
        Skep::Kafka::EmbeddedBroker.check
      rescue Skep::Kafka::MissingGem => e
        e.message
      end

      def versions(rows)
        { **super, "librdkafka" => Kafka::Cluster.librdkafka, "broker" => Topics.broker }.compact
      end

      def ours = OURS
      def karafka = KARAFKA
      def wishes = {} # more of them, for each program

      # Returns skep and Karafka's swarm with their defaults and with their best settings. settings:
      # skep's, if they aren't its defaults.
      def both(fault, group, measure, settings: {})
        best = ["skep", *settings.map { |name, value| "#{name} #{value}" }].join(", ")
        plain = { "skep" => [ours, {}], "#{karafka.name}, defaults" => [karafka, {}] }
        tuned = { best => [ours, settings],
                  "#{karafka.name}, best settings" => [karafka, karafka.tuned] }
        { **(size(:defaults) ? plain : {}), **tuned }.map do |name, (server, options)|
          row("#{fault}: #{name}", group, server, measure, options)
        end
      end

      def row(name, group, server, measure, options)
        why = refusal and return Subject.new(name, group:, skipped: why)
        commit = options.any? && server == karafka
        wishes = { workers: WORKERS, options:, commit:, **self.wishes }
        all = -> { { **wishes, **@topics.create(PARTITIONS, quick: commit) } }
        settings = { **wishes, kafka: commit ? Topics::QUICK : {} }
        server.subject(name, all, group:, settings:) do |run|
          traffic = Traffic.new(run, partitions: PARTITIONS)
          traffic.begin(patience: size(:start))
          traffic.flow(size(:calm))
          send(measure, run, traffic)
        ensure
          traffic&.close
        end
      end

      def killed(run, traffic)
        run.signal(traffic.last_pid, :KILL)
        outcome(traffic)
      end

      def hung(_run, traffic)
        traffic.send_word("hang", 0)
        outcome(traffic)
      end

      def poison(_run, traffic)
        traffic.send_word("poison", 0)
        outcome(traffic) { { "crashes" => traffic.count("poison") } }
      end

      def orphaned(run, _traffic) = Supervise::Orphans.new(run, patience: size(:patience)).kill

      def orphaned_and_stuck(run, traffic)
        traffic.send_word("hang", 0)
        traffic.flow(size(:start)) { traffic.count("hang").positive? }
        orphaned(run, traffic)
      end

      # Returns the longest wait and the messages that were handled twice, once all is well again.
      # over: returns true as soon as what was done at `since` is over.
      def outcome(traffic, since: OS.now, over: -> { true })
        well = traffic.recovers?(since:, patience: size(:patience), &over)
        more = block_given? ? yield : {}
        unless well
          also = more.map { |name, figure| "; #{name}: #{figure}" }.join
          raise Subject::Never, "messages still wait after #{size(:patience)} s#{also}"
        end

        { "" => traffic.longest_wait, "p99" => traffic.wait(0.99),
          "handled twice" => traffic.twice, **more }
      end
    end
  end
end

require_relative "faults/topics"
require_relative "faults/traffic"
