# frozen_string_literal: true

require "skep/cli/bench/kin"
require "skep/cli/bench/broker"
require "skep/cli/bench/keeper"
require "skep/cli/bench/keeping"

# `skep bench supervise`: what happens to workers that hang, that are left alone, that can't boot,
# that do nothing, or that don't end, by who keeps them; and what many nodes cost skep.
#
#   Supervise.new(patience: 2, crash: 1, idle: 1, ending: 1, many: 8, kills: 2).run   # => Report
#
# Each keeper keeps two workers. With peers that never do what is waited for it takes 25 minutes; so
# it measures once unless told otherwise.
module Skep
  module CLI
    class Bench
      class Supervise < Contest
        TITLE = "hung workers, orphans, crash loops, idleness and ends"
        UNIT = "s"
        ROUNDS = 1
        SIZES = { workers: 2, rest: 1.0, patience: 40, crash: 5, idle: 10, still: 30,
                  ending: 5, few: 4, more: 100, many: 1_000, kills: 20 }.freeze
        STOPPED = "a stopped worker, until its replacement begins"
        STUCK = "a worker stuck in C with the GVL, until its replacement begins"
        ORPHANS = "kill -9 of the supervisor, until nothing is left of it"
        LEFT_STUCK = "the same, its workers stuck in C with the GVL"
        CRASHES = "a crash loop: workers die at their first line"
        NOTHING = "nothing to do: wake-ups a second"
        BUSY = "TERM while a worker is busy: its keepers' CPU, % of a core"
        FORCED = "the same, and a second TERM, until nothing is left of it"
        CROWD = "nodes of skep's: kill -9 of one of them"
        OURS = Keeper::OURS
        BARE = Keeper::BARE_LOOP
        TIMEOUT = 3
        IDLE, IDLE_TUNED = "idle: skep", "idle: skep, liveness_timeout #{TIMEOUT}"
        TIMEOUTS = { IDLE => 30, IDLE_TUNED => TIMEOUT }.freeze # seconds
        private_constant :STOPPED, :STUCK, :ORPHANS, :LEFT_STUCK, :CRASHES, :NOTHING, :BUSY,
                         :FORCED, :CROWD, :OURS, :BARE, :IDLE, :IDLE_TUNED, :TIMEOUT, :TIMEOUTS

        def contenders = [*hung, *orphaned, *crashing, *idle, *ending, *crowds]

        def goals(rows)
          few, many = crowd(size(:few)), crowd(size(:many))
          [cpu_goal(rows, few, many), replacement_goal(rows, few, many), *idle_goals(rows)]
        end

        private

        def all = [BARE, OURS, *Keeper::PEERS]

        # The bare loop notices no hang, and knows no end.
        def keepers = all - [BARE]

        # Workers that do nothing any more.
        def hung
          ways = { "stopped" => [STOPPED, {}], "stuck" => [STUCK, { orders: true }] }
          ways.flat_map do |how, (group, wishes)|
            kept_as_set(how, group, wishes) do |kept|
              Hang.new(kept, patience: size(:patience)).public_send(how)
            end
          end
        end

        # By all as they come, and as soon as their settings allow.
        def kept_as_set(how, group, wishes, &measure)
          keepers.flat_map do |keeper|
            [{}, keeper.tuned].uniq.map do |options|
              settings = options.map { |name, value| "#{name} #{value}" }
              row(keeper, "#{how}: #{[keeper.name, *settings].join(", ")}", group,
                  { **wishes, options: }, &measure)
            end
          end
        end

        def orphaned
          healthy = each("orphaned", ORPHANS, all) { |kept| orphans(kept).healthy }
          stuck = each("orphaned and stuck", LEFT_STUCK, all, { orders: true }) do |kept|
            orphans(kept).stuck
          end
          healthy + stuck
        end

        def orphans(kept) = Orphans.new(kept, patience: size(:patience))

        def crashing
          each("crash loop", CRASHES, all) do |kept|
            { "forks a second" => CrashLoop.new(kept, seconds: size(:crash)).rate }
          end
        end

        # Ours for a whole liveness_timeout of its default too, and for several short ones.
        def idle
          tuned = { liveness_timeout: TIMEOUT }
          rows = (all - [OURS]).map { |keeper| idle_row(keeper, "idle: #{keeper.name}", {}, :idle) }
          rows.insert(1, idle_row(OURS, IDLE, {}, :still), idle_row(OURS, IDLE_TUNED, tuned, :idle))
        end

        def idle_row(keeper, name, options, size)
          row(keeper, name, NOTHING, { options: }) do |kept|
            Idle.new(kept, seconds: size(size)).figures
          end
        end

        def ending
          share = each("busy", BUSY, keepers, { busy: true }) do |kept|
            { "% of a core" => Ending.new(kept).share(size(:ending)) }
          end
          forced = each("forced", FORCED, keepers, { busy: true }) do |kept|
            Ending.new(kept).forced(2 * size(:ending))
          end
          share + forced
        end

        def crowd(nodes) = "#{nodes} nodes"

        def crowds
          %i[few more many].map do |amount|
            wishes = { workers: size(amount), options: { restarts: 1_000_000 } }
            row(OURS, crowd(size(amount)), CROWD, wishes) do |kept|
              Crowd.new(kept, kills: size(:kills)).figures
            end
          end
        end

        def each(how, group, keepers, wishes = {}, &measure)
          keepers.map { |keeper| row(keeper, "#{how}: #{keeper.name}", group, wishes, &measure) }
        end

        def row(keeper, name, group, wishes, &measure)
          wishes = { workers: size(:workers), rest: size(:rest), **wishes }
          keeper.contender(name, wishes, group:, &measure)
        end

        def cpu_goal(rows, few, many)
          Goal.at_most("the supervisor's CPU for an event, #{many} against #{few}",
                       rows.ratio(many, few), 2)
        end

        def replacement_goal(rows, few, many)
          column = "ms to the replacement"
          Goal.at_most("the time to a replacement, #{many} against #{few}",
                       rows.ratio(many, few, column:), 2)
        end

        # Of each process.
        def idle_goals(rows)
          TIMEOUTS.to_a.product(%w[supervisor worker others]).map do |(row, timeout), column|
            rate = rows.median(row, column:)
            Goal.at_most("wake-ups a liveness_timeout of #{timeout} s: #{column}",
                         rate && (rate * timeout), 3)
          end
        end
      end
    end
  end
end

require "skep/cli/bench/supervise/hang"
require "skep/cli/bench/supervise/orphans"
require "skep/cli/bench/supervise/crash_loop"
require "skep/cli/bench/supervise/idle"
require "skep/cli/bench/supervise/ending"
require "skep/cli/bench/supervise/crowd"
