# frozen_string_literal: true

require_relative "server/process_tree"
require_relative "server/broker"
require_relative "server/server_under_test"
require_relative "server/server_run"

# `bin/bench recovery`: from a worker's kill -9 to its replacement's first line of work.
#
#   Recovery.new(rounds: 1, kills: 20, heap: 16).run   # => Report
#
# Each server runs two workers of the same application, which do nothing: one with a small heap, and
# one with a heap of one GiB. A peer runs with its defaults, and with the settings that replace a
# worker soonest, if it has such settings. A round kills a few workers of each, so that disturbances
# affect all equally. It kills 100 of each, or as many as there is time for, in half an hour.
module Skep
  module Benchmarks
    class Recovery < Benchmark
      TITLE = "kill -9 of a worker to its replacement's first line of work"
      UNIT = "ms"
      ROUNDS = 5
      SIZES = { kills: 20, workers: 2, heap: 1024, seconds: 3 }.freeze # a round
      SMALL = "a small heap"
      OFTEN = { max_restarts: 1_000_000 }.freeze # no delay of the sixth restart
      SPARE = "skep, spares: 1"
      SPARE_PAUSE = 0.3 # seconds, so that the spare is ready before the next kill
      private_constant :SMALL, :OFTEN, :SPARE, :SPARE_PAUSE

      def subjects
        { SMALL => 0, large => size(:heap) }.flat_map { |heap| [*three(*heap), *peers(*heap)] }
      end

      def goals(rows) = [SMALL, large].flat_map { |heap| goals_with(rows, heap) }

      private

      def large = "a heap of #{size(:heap)} MiB"

      def three(heap, mebibytes)
        bare = ServerUnderTest::BARE_LOOP
        [row(bare, bare.name, heap, mebibytes),
         row(ServerUnderTest::OURS, "skep", heap, mebibytes, OFTEN),
         spare(heap, mebibytes)]
      end

      def peers(heap, mebibytes)
        ServerUnderTest::PEERS.flat_map do |server|
          [{}, server.quick].uniq.map do |options|
            name = [server.name, *options.map { |each, value| "#{each} #{value}" }].join(", ")
            row(server, name, heap, mebibytes, options)
          end
        end
      end

      def spare(heap, mebibytes)
        row(ServerUnderTest::OURS, SPARE, heap, mebibytes, { **OFTEN, spares: 1 }, SPARE_PAUSE)
      end

      def row(server, name, heap, mebibytes, options = {}, pause = 0.02)
        wishes = { workers: size(:workers), heap: mebibytes, options: }
        facts = { group: heap, against: "#{ServerUnderTest::BARE_LOOP.name}, #{heap}" }
        server.subject("#{name}, #{heap}", wishes, **facts) do |run|
          Kills.new(run, most: size(:kills), seconds: size(:seconds), pause:).figures
        end
      end

      # Compares the worst of all rounds with the median of the bare loop, whose own worst shows the
      # disturbances of the machine.
      def goals_with(rows, heap)
        bare, ours, spare = ["a bare loop", "skep", SPARE].map { |server| "#{server}, #{heap}" }
        usual = rows.median(bare)
        worst, bare_worst = [ours, bare].map { |row| times(rows, row, usual) }
        base = "the bare loop's median, whose own worst is #{Figures.text(bare_worst)}x"
        [Goal.at_most("#{ours}: its median within 1.2x of the bare loop's",
                      rows.ratio(ours, bare), 1.2),
         Goal.at_most("#{ours}: its worst within 3x of #{base}", worst, 3),
         Goal.at_most("#{spare}: ms", rows.median(spare), 5)]
      end

      def times(rows, row, usual)
        worst = rows[row].most("worst")
        worst / usual if worst && usual
      end
    end
  end
end

require_relative "recovery/kills"
