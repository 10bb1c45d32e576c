# frozen_string_literal: true

require "etc"

# `bin/bench threads`: how threads affect each other. It measures the share of a thread that calls
# Thread.pass, the cost of waiting threads for the one that computes, and the gain by threads and by
# processes if all compute.
module Skep
  module Benchmarks
    class Threads < Benchmark
      TITLE = "what threads cost each other"
      UNIT = "ms"
      ROUNDS = 5
      SIZES = { milliseconds: 1000, fib: 31, tasks: 4 }.freeze

      PROGRAMS = File.expand_path("threads", __dir__)
      COUNT = 10
      BESIDE = [0, 4, 9, 99].freeze
      SHARE = "what one of #{COUNT} threads gets"
      BLOCKED = "one that computes, beside others that wait"
      FAIR, PASSING = "it counts as they do", "it passes after each count"
      ALONE, THREADS, FORKS = "one by one", "in a thread each", "in a forked process each"
      private_constant :PROGRAMS, :COUNT, :BESIDE, :SHARE, :BLOCKED, :FAIR, :PASSING, :ALONE,
                       :THREADS, :FORKS

      def subjects = [*shares, *beside, *computing]

      def goals(rows)
        [Goal.at_most("beside 99 threads blocked in Queue#pop",
                      rows.median(blocked(99), column: "x alone"), 1.1)]
      end

      def derived(rows)
        { "threads, times as fast as one by one" => THREADS,
          "forked processes, times as fast" => FORKS }.filter_map do |name, way|
          figure = rows.ratio(ALONE, way) or next
          DerivedFigure.new(name:, figure:, unit: "x", note: "#{Etc.nprocessors} processors")
        end
      end

      private

      def shares
        { FAIR => "counting", PASSING => "passing" }.map do |name, way|
          subject(name, SHARE, FAIR, "share", COUNT, size(:milliseconds), way)
        end
      end

      def beside
        { "Queue#pop" => "popping", "Thread.pass" => "passing" }.flat_map do |series, way|
          BESIDE.map do |count|
            subject(blocked(count, series), BLOCKED, blocked(0), "beside", count, way,
                      size(:fib))
          end
        end
      end

      def blocked(count, series = "Queue#pop") = "#{count} in #{series}"

      def computing
        { ALONE => "one by one", THREADS => "threads", FORKS => "forks" }.map do |name, way|
          subject(name, "#{size(:tasks)} computations", ALONE, "fib", way, size(:tasks),
                    size(:fib))
        end
      end

      def subject(name, group, against, program, *args, **place)
        Subject.new(name, group:, against:, **place) do
          Program.run("#{PROGRAMS}/#{program}.rb", args:)
        end
      end
    end
  end
end
