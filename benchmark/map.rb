# frozen_string_literal: true

# `bin/bench map`: the cost of mapping items in two processes, including their start and end.
#
#   Map.new(rounds: 1, integers: 100, strings: 100, waits: 4, megabytes: 1, fibs: 4,
#           heap: 1_000).run   # => Report
#
# Each kind of item is mapped in three ways, each in its own Ruby process: by Ruby's `map` without a
# fork, by the gem parallel, and by Skep.map. The last kind is a map over ten items in a program
# with a heap of 1 GiB. Each subject builds that heap again.
module Skep
  module Benchmarks
    class Map < Benchmark
      TITLE = "what a map in two processes costs"
      UNIT = "µs"
      ROUNDS = 5
      SIZES = { integers: 50_000, strings: 20_000, waits: 40, megabytes: 100, fibs: 400,
                heap: 4_000_000 }.freeze

      KINDS = { integers: "Integers, a block that does nothing: µs an item",
                strings: "strings of 1 KB, returned as strings of 1 KB: µs an item",
                waits: "items that wait for 10 ms: µs an item",
                megabytes: "items whose result is a string of 1 MB: µs an item",
                fibs: "items that calculate for a millisecond: µs an item",
                heap: "ten items, and a heap of 1 GiB: µs a map" }.freeze
      PROGRAM = File.expand_path("map/measure.rb", __dir__)
      TIMEOUT = 300.0
      PEER = "parallel"
      private_constant :KINDS, :PROGRAM, :TIMEOUT, :PEER

      def subjects = KINDS.keys.flat_map { |kind| three(kind) } + [limit, warmed]

      def goals(rows)
        [Goal.at_most("a no-op Integer, start and end included, within 0.5 µs",
                      rows.median("integers: Skep.map"), 0.5),
         faster(rows, :integers, 25), *no_worse(rows, :strings, :waits, :megabytes),
         faster(rows, :heap, 4)]
      end

      private

      def three(kind)
        [of(kind, "map", "plain"), of(kind, PEER, PEER, **peer),
         of(kind, "Skep.map", "skep", flags: Checkout.flags, ours: true)]
      end

      def limit = of(:heap, "one fork, exit! and wait", "fork")

      # The preparation of a program that forks often.
      def warmed
        of(:heap, "Skep.map after Skep.warmup", "warmed", flags: Checkout.flags, ours: true)
      end

      def of(kind, name, way, flags: [], **facts)
        against = "#{kind}: #{PEER}"
        Subject.new("#{kind}: #{name}", group: KINDS.fetch(kind), against:, **facts) do
          Program.run(PROGRAM, args: [way, kind, size(kind)], timeout: TIMEOUT, ruby: flags)
        end
      end

      def peer
        gem = Peer.find(PEER) or return { skipped: Peer.missing(PEER) }
        { flags: gem.flags, version: gem.to_s }
      end

      def faster(rows, kind, times)
        Goal.at_least("#{kind} at least #{times}x faster than by parallel",
                      rows.ratio("#{kind}: #{PEER}", "#{kind}: Skep.map"), times)
      end

      def no_worse(rows, *kinds)
        kinds.map do |kind|
          Goal.at_most("#{kind} no slower than by parallel",
                       rows.ratio("#{kind}: Skep.map", "#{kind}: #{PEER}"), 1.05)
        end
      end
    end
  end
end
