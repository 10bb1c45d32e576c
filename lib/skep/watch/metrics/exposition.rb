# frozen_string_literal: true

# Prometheus' text format, version 0.0.4, of figures that others have counted.
#
#   text = Exposition.new
#   text.put("skep_nodes", 3, state: "ready")               # a value that is no number is left out
#   text.put("skep_recovery_seconds", histogram.to_plain)   # a histogram: Stats::Histogram#to_plain
#   text.to_s
#
# What a metric is, the Catalog tells; there is none but those.
# Source: https://prometheus.io/docs/instrumenting/exposition_formats/
module Skep
  module Watch
    module Metrics
      class Exposition
        CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
        ESCAPED = { "\\" => "\\\\", "\n" => "\\n", '"' => '\"' }.freeze
        private_constant :ESCAPED

        def initialize #: () -> void
          @lines = Hash.new { |all, name| all[name] = [] }
        end

        #: (String, untyped, **untyped) -> void
        def put(name, value, **labels)
          metric = Catalog::ALL.fetch(name)
          case value
          when Hash then histogram(name, value, metric, labels)
          when Numeric then line(name, name, labels, value)
          when true, false then line(name, name, labels, value ? 1 : 0)
          end
        end

        def to_s #: () -> String
          Catalog::ALL.filter_map { |name, metric|
            "#{head(name, metric)}#{@lines[name].join}" if @lines.key?(name)
          }.join
        end

        private

        def head(name, metric) = "# HELP #{name} #{metric.help}\n# TYPE #{name} #{metric.type}\n"

        # Each bucket has all that took no longer than its bound. A node can say what it likes of
        # its work: what isn't one isn't put.
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
end
