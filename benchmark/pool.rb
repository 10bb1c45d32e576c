# frozen_string_literal: true

# `bin/bench pool`: microseconds a job, and the CPU time and method calls of the waiting caller, for
# batches of jobs that do nothing and of jobs that wait, in each way to wait for threads.
module Skep
  module Benchmarks
    class Pool < Benchmark
      TITLE = "what sharing jobs among threads costs, and waiting for them"
      UNIT = "µs a job"
      ROUNDS = 5
      SIZES = { threads: 10, jobs: 10, short: 1, long: 100, milliseconds: 300 }.freeze

      PROGRAM = File.expand_path("pool/batches.rb", __dir__)
      PASS, POP, PEER = "Thread.pass", "Queue#pop", "concurrent-ruby"
      OURS, UNHELPED = "Pool#run", "Pool#run, help: false"
      WAYS = { PASS => %w[passing Passing], POP => %w[popping Popping],
               PEER => %w[concurrent_ruby ConcurrentRuby],
               OURS => %w[ours Ours], UNHELPED => %w[ours OursUnhelped] }.freeze
      OWN_CPU, CALLS = "the caller's", "calls a wait"
      private_constant :PROGRAM, :PASS, :POP, :PEER, :OURS, :UNHELPED, :WAYS, :OWN_CPU, :CALLS

      def subjects
        [0, size(:short), size(:long)].product(WAYS.keys).map { |wait, way| of(way, wait) }
      end

      def goals(rows) = [*costs(rows), *rounds(rows), *waits(rows)]

      private

      def of(way, wait)
        place = { group: "batches of #{size(:jobs)} jobs that #{doing(wait)}",
                  against: name(POP, wait) }
        peer = Peer.find(PEER) if way == PEER
        return missing(name(way, wait), place) if way == PEER && !peer

        Subject.new(name(way, wait), version: peer&.to_s, ours: ours?(way), **place) do
          figures(way, wait, peer ? peer.flags : Checkout.flags)
        end
      end

      def ours?(way) = [OURS, UNHELPED].include?(way)

      def missing(name, place) = Subject.new(name, skipped: Peer.missing(PEER), **place)

      def figures(way, wait, flags)
        args = [*WAYS.fetch(way), size(:threads), size(:jobs), wait, size(:milliseconds)]
        Program.run(PROGRAM, args:, ruby: flags)
      end

      def doing(wait) = wait.zero? ? "do nothing" : "wait #{wait} ms"

      def name(way, wait) = "#{way}: #{wait.zero? ? "no-op" : "#{wait} ms"}"

      def costs(rows)
        [[OURS, 0.1], [UNHELPED, 0.9]].map do |way, limit|
          Goal.at_most("#{name(way, 0)} within #{limit}x of #{POP}",
                       rows.ratio(name(way, 0), name(POP, 0)), limit)
        end
      end

      # Returns goals for the rounds in which the threads ran jobs that wait.
      def rounds(rows)
        [OURS, UNHELPED].map do |way|
          took = rows.median(name(way, size(:short)))
          Goal.at_most("#{name(way, size(:short))}, all jobs in one round: rounds",
                       took && took * size(:jobs) / size(:short) / 1000, 1.5)
        end
      end

      def waits(rows)
        way, pass = [OURS, PASS].map { |each| name(each, size(:long)) }
        calls, burnt = [CALLS, OWN_CPU].map { |column| rows.median(way, column:) }
        passed = rows.median(pass, column: CALLS)
        [Goal.at_least("#{way}, fewer calls than #{PASS}: %",
                       calls && passed && (100 - calls * 100 / passed), 99.9),
         Goal.at_most("#{way}, caller's CPU while waiting: %",
                      burnt && (burnt * 100 / rows.median(way)), 1)]
      end
    end
  end
end
