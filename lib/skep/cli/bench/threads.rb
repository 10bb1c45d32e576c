# frozen_string_literal: true

require "etc"

# `skep bench threads`: what threads cost each other. What is left to one that passes; what those
# that wait cost the one that works; what threads and processes are worth where all need a
# processor.
module Skep
  module CLI
    class Bench
      class Threads < Contest
        TITLE = "what threads cost each other"
        UNIT = "ms"
        ROUNDS = 5
        SIZES = { milliseconds: 1000, fib: 31, tasks: 4 }.freeze

        PROGRAMS = File.expand_path("threads", __dir__)
        COUNT = 10
        BESIDE = [0, 4, 9, 99].freeze
        SHARE = "what one of #{COUNT} threads gets"
        BLOCKED = "one that computes, beside others that wait"
        AXES = { BLOCKED => "threads that wait" }.freeze
        FAIR, PASSING = "it counts as they do", "it passes after each count"
        ALONE, THREADS, FORKS = "one by one", "in a thread each", "in a forked process each"
        private_constant :PROGRAMS, :COUNT, :BESIDE, :SHARE, :BLOCKED, :FAIR, :PASSING, :ALONE,
                         :THREADS, :FORKS

        def contenders = [*shares, *beside, *computing]

        def goals(rows)
          [Goal.at_most("beside 99 threads blocked in Queue#pop",
                        rows.median(blocked(99), column: "x alone"), 1.1)]
        end

        def findings(rows)
          { "threads, times as fast as one by one" => THREADS,
            "forked processes, times as fast" => FORKS }.filter_map do |name, way|
            figure = rows.ratio(ALONE, way) or next
            Finding.new(name:, figure:, unit: "x", note: "#{Etc.nprocessors} processors")
          end
        end

        private

        def shares
          { FAIR => "counting", PASSING => "passing" }.map do |name, way|
            contender(name, SHARE, FAIR, "share", COUNT, size(:milliseconds), way)
          end
        end

        def beside
          { "Queue#pop" => "popping", "Thread.pass" => "passing" }.flat_map do |series, way|
            BESIDE.map do |count|
              contender(blocked(count, series), BLOCKED, blocked(0), "beside", count, way,
                        size(:fib), x: count, series:)
            end
          end
        end

        def blocked(count, series = "Queue#pop") = "#{count} in #{series}"

        def computing
          { ALONE => "one by one", THREADS => "threads", FORKS => "forks" }.map do |name, way|
            contender(name, "#{size(:tasks)} computations", ALONE, "fib", way, size(:tasks),
                      size(:fib))
          end
        end

        def contender(name, group, against, program, *args, **place)
          Contender.new(name, group:, against:, **place) do
            Program.run("#{PROGRAMS}/#{program}.rb", args:)
          end
        end
      end
    end
  end
end
