# frozen_string_literal: true

# What every bench is: contenders measured in turns. Each round measures every contender once, group
# by group in a new random order, so that what else happens on the machine hits all alike: those of
# a group, which are compared, soon after one another.
#
#   class Hello < Contest
#     TITLE = "what saying hello costs"
#     UNIT = "ns"
#     ROUNDS = 7
#     REFERENCE = "puts"                        # optional: the contender that ratios refer to
#     SIZES = { calls: 100_000 }.freeze         # optional: size(:calls); a test gives smaller ones
#
#     def contenders = [Contender.new("puts") { … }, Contender.new("print") { … }]
#     def goals(rows) = [Goal.at_most("print like puts", rows.ratio("print", "puts"), 1.1)]
#     def findings(rows) = []                   # optional: figures that follow from several rows
#     def around = Dir.mktmpdir { |dir| @dir = dir; yield }   # optional: what they all need
#   end
#
#   Hello.new(rounds: 3, calls: 10).run         # => Report
#
# A contender whose program fails is reported as skipped, with what it said; nothing else is
# rescued.
module Skep
  module CLI
    class Bench
      class Contest
        REFERENCE = nil
        SIZES = {}.freeze
        AXES = {}.freeze # by group: what x counts

        #: (?rounds: Integer?, ?progress: Progress?, ?random: Random, **Numeric) -> void
        def initialize(rounds: nil, progress: nil, random: Random.new, **sizes)
          unknown = sizes.keys - self.class::SIZES.keys
          raise ArgumentError, "no such size: #{unknown.join(", ")}" if unknown.any?

          @rounds = rounds || self.class::ROUNDS
          @progress = progress
          @random = random
          @sizes = { **self.class::SIZES, **sizes }
        end

        def run #: () -> Report
          around do
            rows = Rows.new(contenders, self.class::REFERENCE)
            @rounds.times { |round| measure_all(rows, round) }
            report(rows)
          end
        end

        # What is measured, in the order of the table.
        def contenders = raise(NotImplementedError, "#{self.class} has no contenders")

        def goals(_rows) = [] #: (Rows) -> Array[Goal]
        def findings(_rows) = [] #: (Rows) -> Array[Finding]

        # Yields with whatever all contenders need in place, and takes it away again.
        def around = yield

        private

        def size(name) = @sizes.fetch(name)

        def measure_all(rows, round)
          in_turns(rows.reject(&:skipped)).each do |row|
            @progress&.show("round #{round + 1} of #{@rounds}: #{row.name}")
            measure(row)
          end
        end

        def in_turns(rows)
          groups = rows.group_by(&:group).values.shuffle(random: @random)
          groups.flat_map { |group| group.shuffle(random: @random) }
        end

        def measure(row)
          row.add(row.contender.measure)
        rescue Contender::Skipped => e
          row.skip(e.message)
        rescue Contender::Never => e
          row.give_up(e.message)
        rescue Program::Failed => e # the others are still worth measuring
          row.skip("failed: #{e.message}")
        end

        def report(rows)
          Report.new(bench: self.class.name.split("::").last.downcase, title: self.class::TITLE,
                     unit: self.class::UNIT, rounds: @rounds, machine: Machine.facts,
                     versions: versions(rows), rows:, goals: goals(rows),
                     findings: findings(rows), axes: self.class::AXES)
        end

        def versions(rows)
          peers = rows.filter_map { |row| row.contender.version }.uniq
          { "skep" => "#{VERSION}#{" (fallbacks)" unless OS.native?}",
            **peers.to_h { |peer| peer.split(" ", 2) } }
        end
      end
    end
  end
end
