# frozen_string_literal: true

# The result: for each kind of fault how often it was injected and recovered from, through what and
# how fast; and the supervisor's memory and descriptors.
#
#   report.lines; report.to_json
#   report.problems     # => sentences; none if the swarm recovered from all faults
module Skep
  module CLI
    module Chaos
      Report = Struct.new(:swarm, :schedule, :seconds, :faults, :skipped, :lost_events, :zombies,
                          :samples, :not_ready, :ended, keyword_init: true)

      class Report
        # The supervisor's, so many seconds after the start.
        Sample = Struct.new(:seconds, :descriptors, :bytes)

        COLUMNS = ["fault", "injected", "recovered", "median ms", "worst ms", "cause"].freeze
        private_constant :COLUMNS

        def problems
          [*ended, *faults.select(&:pending?).map { |fault| "not recovered: #{fault}" },
           *("#{lost_events} events were lost" if lost_events.positive?),
           *("zombies are left: #{zombies.join(", ")}" if zombies.any?),
           *("not ready at the end: #{not_ready.join(", ")}" if not_ready.any?)]
        end

        def lines
          table = UI::TextTable.new(COLUMNS, kinds.map { |kind, all| row(kind, all) })
          ["swarm #{swarm}, #{seconds.round} s, seed #{schedule.seed}",
           *table.to_s.lines(chomp: true),
           *([skipped_line] if skipped.any?), supervisor_line]
        end

        def to_json(*)
          JSON.generate({ swarm:, seconds: seconds.round(1), seed: schedule.seed,
                          faults: kinds.to_h { |kind, all| [kind, figures(all)] }, skipped:,
                          lost_events:, zombies: zombies.size, samples: samples.map(&:to_h),
                          problems: })
        end

        private

        def kinds = faults.group_by(&:kind)

        def row(kind, all)
          facts = figures(all)
          causes = facts[:causes].map { |cause, count| "#{cause} #{count}" }.join(", ")
          [kind, *facts.values_at(:injected, :recovered, :median_ms, :worst_ms), causes]
        end

        def figures(all)
          times = all.filter_map(&:milliseconds).sort
          { injected: all.size, recovered: times.size, median_ms: median(times)&.round(1),
            worst_ms: times.last&.round(1), causes: all.filter_map(&:cause).tally }
        end

        def median(sorted)
          (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0 if sorted.any?
        end

        def skipped_line
          counts = skipped.map { |kind, count| "#{count} #{kind}" }.join(", ")
          "skipped, because there was no process for them: #{counts}"
        end

        def supervisor_line
          return "the supervisor's memory can't be read" if samples.empty?

          first, last, most = [samples.first, samples.last, samples.max_by(&:bytes)]
          "supervisor: descriptors #{first.descriptors} -> #{last.descriptors}, private memory " \
            "#{mib(first)}, after a tenth of the time #{mib(warm)}, at the end #{mib(last)} MiB " \
            "(at most #{mib(most)})"
        end

        # Once its code has run for the first time: a Ruby process grows until then.
        def warm = samples.find { |sample| sample.seconds >= samples.last.seconds / 10 }

        def mib(sample) = (sample.bytes / 1_048_576.0).round(1)
      end
    end
  end
end
