# frozen_string_literal: true

# What came of it: each kind of harm with how often it was done and answered, by what, how fast; and
# what the supervisor had to pay.
#
#   report.lines; report.to_json
#   report.faults       # => sentences; none: all was answered
module Skep
  module CLI
    class Chaos
      Report = Struct.new(:swarm, :plan, :seconds, :deeds, :missed, :lost, :zombies, :samples,
                          :sick, :ended, keyword_init: true)

      class Report
        COLUMNS = ["harm", "done", "answered", "median ms", "worst ms", "by"].freeze
        private_constant :COLUMNS

        def faults #: () -> Array[String]
          [*ended, *deeds.select(&:owed?).map { |deed| "never answered: #{deed}" },
           *("#{lost} events were lost" if lost.positive?),
           *("left as zombies: #{zombies.join(", ")}" if zombies.any?),
           *("not ready in the end: #{sick.join(", ")}" if sick.any?)]
        end

        def lines #: () -> Array[String]
          cells = [COLUMNS, *kinds.map { |kind, all| row(kind, all) }]
          widths = cells.transpose.map { |column| column.map(&:size).max }
          ["swarm #{swarm}, #{seconds.round} s, seed #{plan.seed}",
           *cells.map { |line| line.zip(widths).map { |cell, width| cell.ljust(width) } }
                 .map { |line| line.join("  ").rstrip },
           *([missed_line] if missed.any?), vitals]
        end

        def to_json(*) #: () -> String
          JSON.generate({ swarm:, seconds: seconds.round(1), seed: plan.seed,
                          harm: kinds.to_h { |kind, all| [kind, figures(all)] }, missed:, lost:,
                          zombies: zombies.size, samples: samples.map(&:to_h), faults: })
        end

        private

        def kinds = deeds.group_by(&:kind)

        def row(kind, all)
          facts = figures(all)
          by = facts[:by].map { |what, count| "#{what} #{count}" }.join(", ")
          [kind, facts[:done], facts[:answered], facts[:median_ms] || "-", facts[:worst_ms] || "-",
           by].map(&:to_s)
        end

        def figures(all)
          times = all.filter_map(&:milliseconds)
          median = Bench::Statistics.median(times) if times.any?
          { done: all.size, answered: times.size, median_ms: median&.round(1),
            worst_ms: times.max&.round(1), by: all.filter_map(&:by).tally }
        end

        def missed_line
          counts = missed.map { |kind, count| "#{count} #{kind}" }.join(", ")
          "not done, for nobody was there to do it to: #{counts}"
        end

        def vitals
          return "the supervisor's memory can't be read" if samples.empty?

          first, last, most = [samples.first, samples.last, samples.max_by(&:bytes)]
          "supervisor: descriptors #{first.descriptors} -> #{last.descriptors}, private memory " \
            "#{mib(first)}, after a tenth of the time #{mib(warm)}, at the end #{mib(last)} MiB " \
            "(at most #{mib(most)})"
        end

        # When its code has run for the first time: a Ruby process grows until then.
        def warm = samples.find { |sample| sample.seconds >= samples.last.seconds / 10 }

        def mib(sample) = (sample.bytes / 1_048_576.0).round(1)
      end
      private_constant :Report
    end
  end
end
