# frozen_string_literal: true

# `bin/bench cow`: how much of its parent's memory a child continues to share.
#
#   Cow.new(rounds: 1, objects: 100_000, children: 2, written: 50_000).run   # => Report
#
# The first group of figures is the memory of a parent and its children after a full GC in each
# child, as a multiple of the memory right after the fork. The second is the effect of huge pages on
# a child that reads, writes at scattered places, and allocates. Each subject builds the same heap
# in its own Ruby process, one after the other. The largest need about 2 GB.
module Skep
  module Benchmarks
    class Cow < Benchmark
      TITLE = "how much memory a child still shares with its parent"
      UNIT = "x"
      ROUNDS = 3
      SIZES = { objects: 4_000_000, children: 10, written: 1_000_000, every: 1_000 }.freeze

      PROGRAMS = File.expand_path("cow", __dir__)
      GROWTH = "memory after a full GC in each child / right after the fork"
      WRITES = "private MiB of a child that wrote to scattered places"
      TIMEOUT = 600.0
      PRESIZED, RESHARED = "Skep.warmup, heap slots pre-sized", "Skep.warmup(reshare: true)"
      SMALL, HUGE = "warmed up, 4 KiB pages", "warmed up, huge pages"
      private_constant :PROGRAMS, :GROWTH, :WRITES, :TIMEOUT, :PRESIZED, :RESHARED, :SMALL, :HUGE

      # Learns the environment of a restarted process: room for the heap of its last run.
      def around
        @presized = program("slots", size(:objects))
        yield
      end

      def subjects = [*peers, *ours, *huge_or_not]

      def goals(rows)
        private_memory = rows.ratio(HUGE, SMALL)
        reads = rows.ratio(HUGE, SMALL, column: "first read ms")
        [presized_goal(rows), Goal.at_most("with re-sharing", rows.median(RESHARED), 1.10),
         Goal.at_most("huge pages leave as much shared", private_memory, 1.05),
         Goal.at_most("huge pages read as fast", reads, 1.05)].compact
      end

      private

      # Later Rubies don't allocate all heap pages at the start, so they are not adjacent.
      def presized_goal(rows)
        return if RUBY_VERSION >= "3.2"

        Goal.at_most("with heap slots pre-sized", rows.median(PRESIZED), 1.2)
      end

      def peers
        [growth("nothing", "nothing"),
         growth("Process.warmup", "process_warmup", skipped: no_process_warmup),
         growth("nakayoshi_fork", "nakayoshi", **nakayoshi_fork)]
      end

      def nakayoshi_fork
        gem = Peer.find("nakayoshi_fork") or return { skipped: Peer.missing("nakayoshi_fork") }
        { flags: gem.flags, version: gem.to_s }
      end

      def no_process_warmup
        "Ruby #{RUBY_VERSION} has none, 3.3 has" unless Process.respond_to?(:warmup)
      end

      def ours
        [growth("skep/cow_fork", "cow_fork"),
         growth("Skep.warmup, 4 KiB pages", "skep_small"), growth("Skep.warmup", "skep"),
         growth(PRESIZED, "skep", env: -> { @presized }),
         growth(RESHARED, "skep_reshare")]
      end

      def huge_or_not
        { SMALL => "skep_small", HUGE => "skep" }.map do |name, way|
          Subject.new(name, group: WRITES, against: SMALL, ours: true) do
            program("writes", way, size(:written), size(:every))
          end
        end
      end

      def growth(name, way, flags: nil, env: -> { {} }, **facts)
        Subject.new(name, group: GROWTH, ours: way.match?(/skep|cow_fork/), **facts) do
          program("growth", way, size(:objects), size(:children), flags:, env: env.call)
        end
      end

      # The load path of peers has nothing of skep's.
      def program(name, *args, flags: nil, env: {})
        figures = Program.run("#{PROGRAMS}/#{name}.rb", args:, env:, timeout: TIMEOUT,
                                                        ruby: flags || Checkout.flags)
        raise Subject::Skipped, figures["skipped"] if figures["skipped"]

        figures
      end
    end
  end
end
