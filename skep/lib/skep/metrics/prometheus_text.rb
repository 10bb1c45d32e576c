# frozen_string_literal: true

# Writes samples in Prometheus' text format, version 0.0.4.
#
#   text = PrometheusText.new
#   text.add("skep_nodes", 3, state: "ready")               # ignores a value that isn't a number
#   text.add("skep_recovery_seconds", histogram.to_plain)   # Stats::Histogram#to_plain
#   text.to_s
#
# Definitions lists the metrics; there are no others.
# Source: https://prometheus.io/docs/instrumenting/exposition_formats/
module Skep
  module Metrics
    class PrometheusText
      CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
      ESCAPED = { "\\" => "\\\\", "\n" => "\\n", '"' => '\"' }.freeze
      private_constant :ESCAPED

      def initialize
        @definitions = Definitions.all
        @lines = Hash.new { |all, name| all[name] = [] }
      end

      def add(name, value, **labels)
        metric = @definitions.fetch(name)
        case value
        when Hash then histogram(name, value, metric, labels)
        when Numeric then line(name, name, labels, value)
        when true, false then line(name, name, labels, value ? 1 : 0)
        end
      end

      def to_s
        @definitions.filter_map { |name, metric|
          "#{head(name, metric)}#{@lines[name].join}" if @lines.key?(name)
        }.join
      end

      private

      def head(name, metric) = "# HELP #{name} #{metric.help}\n# TYPE #{name} #{metric.type}\n"

      # A bucket counts all values up to its bound. A work may report anything under this name: a
      # value that isn't a histogram is ignored.
      def histogram(name, plain, metric, labels)
        return unless metric.bounds && Swarm::Stats::Histogram.plain?(plain)

        left = plain["buckets"].sort
        count = 0
        metric.bounds.each do |bound|
          count += left.shift.last while left.any? && left.first.first <= bound
          line(name, "#{name}_bucket", { **labels, le: bound }, count)
        end
        line(name, "#{name}_bucket", { **labels, le: "+Inf" }, plain["count"])
        line(name, "#{name}_sum", labels, plain["sum"])
        line(name, "#{name}_count", labels, plain["count"])
      end

      def line(metric, name, labels, value)
        @lines[metric] << "#{name}#{braces(labels)} #{value}\n"
      end

      def braces(labels)
        return if labels.empty?

        "{#{labels.map { |key, value| "#{key}=\"#{escaped(value.to_s)}\"" }.join(",")}}"
      end

      def escaped(text) = text.scrub.gsub(/[\\\n"]/, ESCAPED)
    end
  end
end
