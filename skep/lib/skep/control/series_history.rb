# frozen_string_literal: true

# The numbers of a swarm's charts over the last half hour: its private and shared memory, its rate,
# its lag, and the private memory of each node.
#
#   series = SeriesHistory.new(supervisor)
#   series.to_plain
#   # => { at: [1234.5, 1249.5], lines: { "own" => [8_000_000, 8_100_000], "node/0" => [nil, …] } }
#
# It takes a sample every INTERVAL seconds; if the loop is awake anyway in the second half of that
# time, then. So the samples of an idle swarm wake the supervisor no more often than the memory
# monitor does. Beyond NODES nodes it keeps the sums only, which are those of all.
#
# Lag and rate are those that the nodes report. The supervisor doesn't look at their partitions:
# thousands of them would take it longer than all else that it does.
module Skep
  module Control
    class SeriesHistory
      INTERVAL = 15.0
      SECONDS = 1800.0
      NODES = 200
      LIMIT = 10**15
      Point = Struct.new(:at, :names, :values)
      private_constant :INTERVAL, :SECONDS, :NODES, :LIMIT, :Point

      def initialize(supervisor)
        @supervisor = supervisor
        @sampler = ProcessSampler.new
        @points = []
        sample_later
      end

      # figures: of Supervisor#figures.
      def add(figures, now)
        numbers = numbers(figures, now)
        names = numbers.keys
        names = @points.last.names if @points.any? && @points.last.names == names # one for all
        @points << Point.new(now, names, numbers.values)
        @points.shift while @points.first.at <= now - SECONDS
      end

      def to_plain
        rows = @points.map { |point| point.names.zip(point.values).to_h }
        names = rows.flat_map(&:keys).uniq
        { at: @points.map { |point| point.at.round(1) },
          lines: names.to_h { |name| [name, rows.map { |row| row[name] }] } }
      end

      def inspect = "#<#{self.class} #{@points.size} points>"

      private

      # The next sample is taken even if there is an error in this one.
      def sample_later
        @supervisor.loop.after(INTERVAL, early: INTERVAL / 2) do
          sample_later
          @supervisor.events.guard("observer #{self.class}", harmless: true) do
            add(@supervisor.figures, OS.now)
          end
        end
      end

      def numbers(figures, now)
        nodes = figures["nodes"]
        own, all = %i[uss pss].map { |kind| nodes.sum { |node| memory(node, kind) || 0 } }
        { "own" => own, "shared" => [all - own, 0].max, **work(figures, now),
          **nodes.first(NODES).to_h { |node| ["node/#{node["id"]}", memory(node, :uss)] } }
      end

      # Spares have none.
      def work(figures, now)
        rates = @sampler.sample(figures, now, pids: false).rates
        rate = rates.sum { |id, one| id.is_a?(Integer) ? number(one) || 0 : 0 }
        lags = figures["nodes"].filter_map { |node| number(node["work"]["lag"]) }
        { "rate" => rate.round(1), "lag" => (lags.sum if lags.any?) }
      end

      def memory(node, kind) = node["memory"]&.fetch(kind)
      def number(value) = value.is_a?(Numeric) && value.abs < LIMIT ? value : nil
    end
  end
end
