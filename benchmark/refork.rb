# frozen_string_literal: true

require_relative "server/process_tree"
require_relative "server/broker"
require_relative "server/server_under_test"
require_relative "server/server_run"

# `bin/bench refork`: the memory of a Rails application after minutes of requests, ten by default,
# preloaded as usual, and reforked.
#
#   Refork.new(rounds: 2, seconds: 6, last: 2).run   # => Report
#
# All servers run at the same time, with the same application, the same number of workers, and the
# same requests. A round measures once in the last minute, so the quartiles are of that minute.
# SKEP_BENCH_SECONDS, SKEP_BENCH_WORKERS and SKEP_BENCH_MODELS change the duration, the number of
# workers, and the size of the application.
module Skep
  module Benchmarks
    class Refork < Benchmark
      TITLE = "memory of a Rails application that serves requests (PSS of all its processes)"
      UNIT = "MiB"
      ROUNDS = 12
      SIZES = { workers: Integer(ENV.fetch("SKEP_BENCH_WORKERS", "4")),
                models: Integer(ENV.fetch("SKEP_BENCH_MODELS", "48")),
                seconds: Integer(ENV.fetch("SKEP_BENCH_SECONDS", "600")), last: 60,
                rate: 4, after: 100 }.freeze # rate: requests a second, for each server
      START = 600.0 # seconds for all to boot in
      MARKS = [0.1, 0.3, 0.5].freeze # measurements before the last minute
      RAILS = "railties"
      SKEP = ServerUnderTest.new("skep", "rails_app/swarm", gem: RAILS)
      PITCHFORK = ServerUnderTest.new("Pitchfork", "rails_app/pitchfork", gem: "pitchfork")
      PUMA = ServerUnderTest.new("Puma", "rails_app/puma", gem: "puma")
      STEPS = [50, 100, 1000].freeze # those of Pitchfork's documentation
      PLAIN, RESHARED = "skep, preloaded", "skep, reforked and reshared"
      private_constant :START, :MARKS, :RAILS, :SKEP, :PITCHFORK, :PUMA, :STEPS, :PLAIN, :RESHARED

      def subjects
        servers.map do |server|
          Subject.new(server.name, version: server.version, skipped: server.why_not,
                                   settings: { **server.wishes, seconds: size(:seconds) },
                                   against: PLAIN, ours: server.ours?) { server.figures }
        end
      end

      def around(&block)
        raise Failed, "refork measures all at the same time: it takes no --against" if @checkout

        keep(asked.reject(&:why_not)) do
          deadline = OS.now + START
          open.each { |server| server.await(deadline) }
          work(size(:seconds) - size(:last), marks: MARKS.map { |part| part * size(:seconds) })
          block.call
        end
      end

      def goals(rows)
        theirs = pitchforks.filter_map { |name| rows.median(name) }.min
        [OURS, RESHARED].flat_map do |ours|
          ratio = theirs && rows.median(ours)&.fdiv(theirs)
          [Goal.at_most("#{ours}: below plain preloading", rows.ratio(ours, PLAIN), 1),
           Goal.at_most("#{ours}: not above Pitchfork's best", ratio, 1)]
        end
      end

      private

      OURS = "skep, reforked"
      private_constant :OURS

      def servers
        @servers ||= [
          server(PLAIN, SKEP), server(OURS, SKEP, refork_after: after),
          server(RESHARED, SKEP, refork_after: after, reshare: true),
          server("Pitchfork, preloaded", PITCHFORK),
          *pitchforks.zip([[after], STEPS]).map { |name, steps|
            server(name, PITCHFORK, refork_after: steps)
          },
          server("Puma, reforked", PUMA, fork_worker: after)
        ]
      end

      def asked = subjects.zip(servers).filter_map { |one, server| server unless unasked?(one) }

      def after = size(:after)

      def pitchforks = [[after], STEPS].map { |steps| "Pitchfork, reforked after #{steps}" }

      def server(name, server, **options)
        RailsServer.new(name, server, { workers: size(:workers), models: size(:models), options: })
      end

      # Nests the servers, so that each is stopped in any case.
      def keep(servers, &block)
        first, *rest = servers
        return block.call unless first

        first.run { keep(rest, &block) }
      end

      def open = servers.select(&:open?)

      # Each round measures at the end of its part of the last minute.
      def measure_all(rows, round)
        work(size(:last).fdiv(@rounds))
        super
      end

      def work(seconds, marks: [])
        @progress&.start("requests for #{seconds.round} s")
        began = OS.now
        while open.any? && (passed = OS.now - began) < seconds
          mark(marks.shift) while marks.any? && passed >= marks.first
          visit(OS.now + size(:workers).fdiv(size(:rate)))
        end
        marks.each { |late| mark(late) }
        @progress&.finish("done")
      end

      def mark(seconds) = open.each { |server| server.mark("after #{seconds.round} s") }

      # Requests a page for every worker of each server, and waits for the rest of the interval.
      def visit(until_then)
        pages = load_generator.pages
        open.each { |server| server.visited(load_generator, pages) }
        open.first&.rest([until_then - OS.now, 0].max)
      end

      def load_generator
        @load_generator ||= LoadGenerator.new(models: size(:models), workers: size(:workers))
      end
    end
  end
end

require_relative "refork/rails_server"
require_relative "refork/load_generator"
