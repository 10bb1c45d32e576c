# frozen_string_literal: true

require "skep/cli/bench/kin"
require "skep/cli/bench/broker"
require "skep/cli/bench/keeper"
require "skep/cli/bench/keeping"

# `skep bench refork`: how much memory a Rails application takes that has worked for ten minutes,
# preloaded as usual, and reforked.
#
#   Refork.new(rounds: 2, seconds: 6, last: 2).run   # => Report
#
# All keepers work side by side: the same application, so many workers each, the same pages at the
# same times. A round is a look in the last minute, so the quartiles are of that minute.
# SKEP_BENCH_SECONDS and SKEP_BENCH_WORKERS say otherwise how long, and how many.
module Skep
  module CLI
    class Bench
      class Refork < Contest
        TITLE = "memory of a Rails application after ten minutes of work (PSS of all its processes)"
        UNIT = "MiB"
        ROUNDS = 12
        SIZES = { workers: Integer(ENV.fetch("SKEP_BENCH_WORKERS", "4")), models: 48,
                  seconds: Integer(ENV.fetch("SKEP_BENCH_SECONDS", "600")), last: 60,
                  rate: 4, after: 100 }.freeze # rate: requests a second, for each keeper
        START = 120.0 # seconds for all to boot in
        MARKS = [0.1, 0.3, 0.5].freeze # looks before the last minute
        RAILS = "railties"
        SKEP = Keeper.new("skep", "shop/swarm", gem: RAILS)
        PITCHFORK = Keeper.new("Pitchfork", "shop/pitchfork", gem: "pitchfork")
        PUMA = Keeper.new("Puma", "shop/puma", gem: "puma")
        STEPS = [50, 100, 1000].freeze # what Pitchfork's documentation shows
        PLAIN, RESHARED = "skep, preloaded", "skep, reforked and reshared"
        private_constant :START, :MARKS, :RAILS, :SKEP, :PITCHFORK, :PUMA, :STEPS, :PLAIN, :RESHARED

        def contenders
          sites.map do |site|
            Contender.new(site.name, version: site.version, skipped: site.why_not,
                                     against: PLAIN) { site.figures }
          end
        end

        def around(&block)
          keep(sites.reject(&:why_not)) do
            deadline = OS.now + START
            open.each { |site| site.await(deadline) }
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

        def sites
          @sites ||= [
            site(PLAIN, SKEP), site(OURS, SKEP, refork_after: after),
            site(RESHARED, SKEP, refork_after: after, reshare: true),
            site("Pitchfork, preloaded", PITCHFORK),
            *pitchforks.zip([[after], STEPS]).map { |name, steps|
              site(name, PITCHFORK, refork_after: steps)
            },
            site("Puma, reforked", PUMA, fork_worker: after)
          ]
        end

        def after = size(:after)

        def pitchforks = [[after], STEPS].map { |steps| "Pitchfork, reforked after #{steps}" }

        def site(name, keeper, **options)
          Site.new(name, keeper, { workers: size(:workers), models: size(:models), options: })
        end

        # One inside the other, so that each is ended whatever happens.
        def keep(sites, &block)
          first, *rest = sites
          return block.call unless first

          first.kept { keep(rest, &block) }
        end

        def open = sites.select(&:open?)

        # Each round looks after its part of the last minute.
        def measure_all(rows, round)
          work(size(:last).fdiv(@rounds))
          super
        end

        def work(seconds, marks: [])
          began = OS.now
          while open.any? && (passed = OS.now - began) < seconds
            @progress&.show("#{passed.round} of #{seconds.round} s")
            mark(marks.shift) while marks.any? && passed >= marks.first
            visit(OS.now + size(:workers).fdiv(size(:rate)))
          end
          marks.each { |late| mark(late) }
        end

        def mark(seconds) = open.each { |site| site.mark("after #{seconds.round} s") }

        # A page for every worker of everybody, and what is left of the time.
        def visit(until_then)
          pages = visitors.pages
          open.each { |site| site.visited(visitors, pages) }
          open.first&.rest([until_then - OS.now, 0].max)
        end

        def visitors = @visitors ||= Visitors.new(models: size(:models), workers: size(:workers))
      end
    end
  end
end

require "skep/cli/bench/refork/site"
require "skep/cli/bench/refork/visitors"
