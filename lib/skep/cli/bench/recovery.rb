# frozen_string_literal: true

require "skep/cli/bench/kin"
require "skep/cli/bench/broker"
require "skep/cli/bench/keeper"
require "skep/cli/bench/keeping"

# `skep bench recovery`: from a worker's kill -9 to its replacement's first line of work.
#
#   Recovery.new(rounds: 1, kills: 20, heap: 16).run   # => Report
#
# All keep two workers that do nothing, of the same small application; the bare loop and skep also
# of one whose heap takes a GiB. A round kills a few of each, so that the machine's moods hit all
# alike: 200 in all, in a quarter of an hour, half of which Karafka's swarm takes.
module Skep
  module CLI
    class Bench
      class Recovery < Contest
        TITLE = "kill -9 of a worker to its replacement's first line of work"
        UNIT = "ms"
        ROUNDS = 10
        SIZES = { kills: 20, workers: 2, heap: 1024, seconds: 3 }.freeze # a round
        SMALL = "a small heap"
        OFTEN = { restarts: 1_000_000 }.freeze # else the sixth within a minute would be put off
        SPARE = "skep, spares: 1"
        SPARE_PAUSE = 0.3 # seconds, to have the spare back before the next kill
        private_constant :SMALL, :OFTEN, :SPARE, :SPARE_PAUSE

        def contenders = [*three(SMALL, 0), *peers, *three(large, size(:heap))]

        def goals(rows) = [SMALL, large].flat_map { |heap| goals_with(rows, heap) }

        private

        def large = "a heap of #{size(:heap)} MiB"

        def three(heap, mebibytes)
          bare = Keeper::BARE_LOOP
          [row(bare, bare.name, heap, mebibytes), row(Keeper::OURS, "skep", heap, mebibytes, OFTEN),
           spare(heap, mebibytes)]
        end

        def peers = Keeper::PEERS.map { |keeper| row(keeper, keeper.name, SMALL, 0) }

        def spare(heap, mebibytes)
          row(Keeper::OURS, SPARE, heap, mebibytes, { **OFTEN, spares: 1 }, SPARE_PAUSE)
        end

        def row(keeper, name, heap, mebibytes, options = {}, pause = 0.02)
          wishes = { workers: size(:workers), heap: mebibytes, options: }
          facts = { group: heap, against: "#{Keeper::BARE_LOOP.name}, #{heap}" }
          keeper.contender("#{name}, #{heap}", wishes, **facts) do |kept|
            Kills.new(kept, most: size(:kills), seconds: size(:seconds), pause:).figures
          end
        end

        # Of the worst of all rounds: against what the bare loop usually takes, whose own worst says
        # what the machine did.
        def goals_with(rows, heap)
          bare, ours, spare = ["a bare loop", "skep", SPARE].map { |who| "#{who}, #{heap}" }
          usual = rows.median(bare)
          worst, bare_worst = [ours, bare].map { |row| times(rows, row, usual) }
          whose = "the bare loop's median, whose own worst is #{Figures.text(bare_worst)}x"
          [Goal.at_most("#{ours}: its median within 1.2x of the bare loop's",
                        rows.ratio(ours, bare), 1.2),
           Goal.at_most("#{ours}: its worst within 3x of #{whose}", worst, 3),
           Goal.at_most("#{spare}: ms", rows.median(spare), 5)]
        end

        def times(rows, row, usual)
          worst = rows[row].most("worst")
          worst / usual if worst && usual
        end
      end
    end
  end
end

require "skep/cli/bench/recovery/kills"
