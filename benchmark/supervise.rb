# frozen_string_literal: true

require_relative "server/process_tree"
require_relative "server/broker"
require_relative "server/server_under_test"
require_relative "server/server_run"

# `bin/bench supervise`: what each server does with workers that hang, are orphaned, can't boot, are
# idle, or don't stop; and the cost of many nodes in skep.
#
#   Supervise.new(patience: 2, crash: 1, idle: 1, ending: 1, many: 8, kills: 2).run   # => Report
#
# Each server runs two workers. Some peers never react, so that it takes 25 minutes. By default it
# measures once.
module Skep
  module Benchmarks
    class Supervise < Benchmark
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
      BUSY = "TERM while a worker is busy: its servers' CPU, % of a core"
      FORCED = "the same, and a second TERM, until nothing is left of it"
      CROWD = "nodes of skep's: kill -9 of one of them"
      OURS = ServerUnderTest::OURS
      BARE = ServerUnderTest::BARE_LOOP
      TIMEOUT = 3
      IDLE, IDLE_TUNED = "idle: skep", "idle: skep, liveness_timeout #{TIMEOUT}"
      TIMEOUTS = { IDLE => 30, IDLE_TUNED => TIMEOUT }.freeze # seconds
      private_constant :STOPPED, :STUCK, :ORPHANS, :LEFT_STUCK, :CRASHES, :NOTHING, :BUSY,
                       :FORCED, :CROWD, :OURS, :BARE, :IDLE, :IDLE_TUNED, :TIMEOUT, :TIMEOUTS

      def subjects = [*hung, *orphaned, *crashing, *idle, *ending, *crowds]

      def goals(rows)
        few, many = crowd(size(:few)), crowd(size(:many))
        [cpu_goal(rows, few, many), replacement_goal(rows, few, many), *idle_goals(rows)]
      end

      private

      def all = [BARE, OURS, *ServerUnderTest::PEERS]

      # Without the bare loop, which detects no hang and handles no stop.
      def servers = all - [BARE]

      # Returns subjects with workers that hang.
      def hung
        ways = { "stopped" => [STOPPED, {}], "stuck" => [STUCK, { orders: true }] }
        ways.flat_map do |how, (group, wishes)|
          run_as_set(how, group, wishes) do |run|
            Hang.new(run, patience: size(:patience)).public_send(how)
          end
        end
      end

      # All servers with their defaults, and with the settings that detect a hang soonest.
      def run_as_set(how, group, wishes, &measure)
        servers.flat_map do |server|
          [{}, server.tuned].uniq.map do |options|
            settings = options.map { |name, value| "#{name} #{value}" }
            row(server, "#{how}: #{[server.name, *settings].join(", ")}", group,
                { **wishes, options: }, &measure)
          end
        end
      end

      def orphaned
        healthy = each("orphaned", ORPHANS, all) { |run| orphans(run).healthy }
        stuck = each("orphaned and stuck", LEFT_STUCK, all, { orders: true }) do |run|
          orphans(run).stuck
        end
        healthy + stuck
      end

      def orphans(run) = Orphans.new(run, patience: size(:patience))

      def crashing
        each("crash loop", CRASHES, all) do |run|
          { "forks a second" => CrashLoop.new(run, seconds: size(:crash)).rate }
        end
      end

      # skep also with its default liveness_timeout, and with several short ones.
      def idle
        tuned = { liveness_timeout: TIMEOUT }
        rows = (all - [OURS]).map { |server| idle_row(server, "idle: #{server.name}", {}, :idle) }
        rows.insert(1, idle_row(OURS, IDLE, {}, :still), idle_row(OURS, IDLE_TUNED, tuned, :idle))
      end

      def idle_row(server, name, options, size)
        row(server, name, NOTHING, { options: }) do |run|
          Idle.new(run, seconds: size(size)).figures
        end
      end

      def ending
        share = each("busy", BUSY, servers, { busy: true }) do |run|
          { "% of a core" => Ending.new(run).share(size(:ending)) }
        end
        forced = each("forced", FORCED, servers, { busy: true }) do |run|
          Ending.new(run).forced(2 * size(:ending))
        end
        share + forced
      end

      def crowd(nodes) = "#{nodes} nodes"

      def crowds
        %i[few more many].map do |amount|
          wishes = { workers: size(amount), options: { max_restarts: 1_000_000 } }
          row(OURS, crowd(size(amount)), CROWD, wishes) do |run|
            Crowd.new(run, kills: size(:kills)).figures
          end
        end
      end

      def each(how, group, servers, wishes = {}, &measure)
        servers.map { |server| row(server, "#{how}: #{server.name}", group, wishes, &measure) }
      end

      def row(server, name, group, wishes, &measure)
        wishes = { workers: size(:workers), rest: size(:rest), **wishes }
        server.subject(name, wishes, group:, &measure)
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

      # Figures of each process.
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

require_relative "supervise/hang"
require_relative "supervise/orphans"
require_relative "supervise/crash_loop"
require_relative "supervise/idle"
require_relative "supervise/ending"
require_relative "supervise/crowd"
