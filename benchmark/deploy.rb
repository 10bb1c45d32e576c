# frozen_string_literal: true

require_relative "faults"

# `bin/bench deploy`: how long messages wait while a Rails application is deployed, and after a
# kill -9 of one of its processes.
#
#   Deploy.new(rounds: 1, models: 3, patience: 60).run   # => Report
#
# As in Faults, skep and Karafka's swarm run two processes each, beside one broker, and a message is
# written every 20 ms. Each loads the same Rails application of some 300 MiB (rails_app); a message
# changes a row of its database. Both are deployed as a service is: a TERM, and the program starts
# again once it has ended. skep is also deployed by a reload, which the other doesn't have.
# SKEP_BENCH_MODELS changes the size of the application.
module Skep
  module Benchmarks
    class Deploy < Faults
      TITLE = "a Rails application's messages while it is deployed, and killed"
      SIZES = { **Faults::SIZES, patience: 180, start: 300,
                models: Integer(ENV.fetch("SKEP_BENCH_MODELS", "600")) }.freeze
      RELOADED = "a deploy by reload: the longest wait of a message"
      RESTARTED = "a deploy by stop and start: the longest wait of a message"
      KILLED = "kill -9 of a consumer process: the longest wait of a message"
      OURS = ServerUnderTest.new("skep", "deploy/programs/swarm", gem: "karafka-rdkafka")
      KARAFKA = ServerUnderTest.new("Karafka's swarm", "deploy/programs/karafka", gem: "karafka",
                                    tuned: ServerUnderTest::KARAFKA_TUNED)
      NEEDED = %w[railties activerecord actionview sqlite3].freeze
      MEBIBYTE = (1 << 20).to_f
      private_constant :RELOADED, :RESTARTED, :KILLED, :OURS, :KARAFKA, :NEEDED, :MEBIBYTE

      def subjects
        [row("reload: skep", RELOADED, OURS, :reload, {}),
         *both("stop and start", RESTARTED, :stop_and_start), *both("killed", KILLED, :killed)]
      end

      private

      def ours = OURS
      def karafka = KARAFKA
      def wishes = { models: size(:models) }

      def refusal
        super || NEEDED.find { |gem| Peer.find(gem).nil? }&.then { |gem| Peer.missing(gem) }
      end

      def versions(rows) = { **super, "rails" => Peer.find("railties").version.to_s }

      def reload(run, traffic)
        deploy(run, traffic) { run.signal(run.pid, :HUP) }
      end

      def stop_and_start(run, traffic)
        deploy(run, traffic) do
          run.end!(:TERM)
          traffic.flow(size(:patience)) { !run.pidfd.alive? } or
            raise Subject::Never, "it runs #{size(:patience)} s after a TERM"
          run.start_again
        end
      end

      # Returns the figures of the messages from before the deploy until after the last process of
      # the old application has ended and all new ones have messages.
      def deploy(run, traffic)
        memory = { "PSS MiB" => pss(run) }
        old = traffic.workers
        since = OS.now
        yield
        outcome(traffic, since:, over: -> { replaced?(run, traffic, old) }) { memory }
      end

      def replaced?(run, traffic, old)
        (traffic.workers - old).size >= WORKERS && !run.below.intersect?(old)
      end

      # Of all its processes together.
      def pss(run)
        [run.pid, *run.below].sum { |pid| OS::Memory.of(pid)&.pss.to_i } / MEBIBYTE
      end
    end
  end
end
