# frozen_string_literal: true

# The base class of benchmarks: subjects that are measured in turns. Each round measures every
# subject once, group by group in a new random order, so that disturbances affect all subjects
# equally. The subjects of a group are compared, and measured soon after one another.
#
#   class Hello < Benchmark
#     TITLE = "the cost of hello"
#     UNIT = "ns"
#     ROUNDS = 7
#     REFERENCE = "puts"                        # optional: the subject that ratios refer to
#     SIZES = { calls: 100_000 }.freeze         # optional: size(:calls); a test gives smaller ones
#
#     def subjects = [Subject.new("puts") { … }, Subject.new("print") { … }]
#     def goals(rows) = [Goal.at_most("print like puts", rows.ratio("print", "puts"), 1.1)]
#     def derived(rows) = []                    # optional: figures that follow from several rows
#     def around = Dir.mktmpdir { |dir| @dir = dir; yield }   # optional: setup and teardown
#   end
#
#   Hello.new(rounds: 3, calls: 10).run                  # => Report
#   Hello.new(only: "skep", checkout: "/another").run    # skep's rows, here and there
#
# A subject whose program fails is reported as skipped, with the program's output. Nothing else is
# rescued.
module Skep
  module Benchmarks
    class Benchmark
      REFERENCE = nil
      SIZES = {}.freeze

      # only: measures those whose name contains it; "skep": those that run skep's code.
      # checkout: measures these a second time in that checkout.
      def initialize(rounds: nil, progress: nil, random: Random.new, only: nil, checkout: nil,
                     **sizes)
        unknown = sizes.keys - self.class::SIZES.keys
        raise ArgumentError, "no such size: #{unknown.join(", ")}" if unknown.any?

        @rounds = rounds || self.class::ROUNDS
        @progress, @random, @only, @checkout = progress, random, only, checkout
        @sizes = { **self.class::SIZES, **sizes }
      end

      def run
        machine = Machine.facts # before anything is measured
        around do
          rows = Rows.new(here_and_there, self.class::REFERENCE)
          rows.select { |row| unasked?(row.subject) }.each(&:leave_out)
          @rounds.times { |round| measure_all(rows, round) }
          report(rows, machine)
        end
      end

      # Returns the subjects in the order of the table.
      def subjects = raise(NotImplementedError, "#{self.class} has no subjects")

      def goals(_rows) = []
      def derived(_rows) = []

      # Sets up what all subjects need, yields, and removes it.
      def around = yield

      private

      def size(name) = @sizes.fetch(name)

      def unasked?(subject)
        case @only
        when nil then false
        when "skep" then !subject.ours
        else !subject.name.include?(@only)
        end
      end

      # Returns the subjects that run skep's code, each followed by itself in the other checkout.
      def here_and_there
        return subjects unless @checkout

        label = Checkout.label(@checkout)
        others = Checkout.use(@checkout) { subjects }
        subjects.zip(others).flat_map do |subject, other|
          next [subject] unless subject.ours

          name = "#{subject.name} #{label}"
          [subject.compared_with(name), other.in(@checkout, name)]
        end
      end

      def measure_all(rows, round)
        in_turns(rows.reject(&:skipped)).each do |row|
          @progress&.start("round #{round + 1} of #{@rounds}: #{row.name}")
          text = measure(row)
          @progress&.finish(text)
        end
      end

      def in_turns(rows)
        groups = rows.group_by(&:group).values.shuffle(random: @random)
        groups.flat_map { |group| group.shuffle(random: @random) }
      end

      # Returns a text about the figure, or why there is none.
      def measure(row)
        column, figure = row.add(row.subject.measure).first
        "#{Figures.text(figure)} #{column.empty? ? self.class::UNIT : column}"
      rescue Subject::Skipped => e
        row.skip(e.message)
      rescue Subject::Never => e
        row.give_up(e.message)
      rescue Program::Failed => e # the others can still be measured
        row.skip("failed: #{e.message}")
      end

      def report(rows, machine)
        goals = goals(rows)
        goals = goals.select(&:figure) if @only
        Report.new(benchmark: self.class.name.split("::").last.downcase, title: self.class::TITLE,
                   unit: self.class::UNIT, rounds: @rounds, date: Time.now.strftime("%F"), machine:,
                   versions: versions(rows), rows:, goals:, derived: derived(rows))
      end

      def versions(rows)
        peers = rows.filter_map { |row| row.subject.version }.uniq
        more = [Checkout.commit, *("fallbacks" unless OS.native?)].compact
        { "skep" => "#{VERSION}#{" (#{more.join(", ")})" if more.any?}",
          **peers.to_h { |peer| peer.split(" ", 2) } }
      end
    end
  end
end
