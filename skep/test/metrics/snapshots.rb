# frozen_string_literal: true

require "skep/metrics"

%w[definitions prometheus_text swarm_collector work_collector status_cache app].each do |part|
  require "skep/metrics/#{part}" # all but what needs Puma
end

# Statuses as a supervisor returns them, and the metrics made from them.
module Snapshots
  STATUS = {
    "name" => "billing", "pid" => Process.pid, "state" => "running", "skep" => "1.2.3",
    "ruby" => "3.4.1", "revision" => "4f0c1e2", "crash_loop" => false, "uptime" => 12.5,
    "supervisor" => { "memory" => { "rss" => 12_000_000 }, "descriptors" => 21, "cpu" => 0.4 },
    "events" => { "node_died" => 2 },
    "recovery" => { "count" => 2, "sum" => 0.4, "buckets" => [[0.02, 1], [0.38, 1]] },
    "suspects" => []
  }.freeze
  private_constant :STATUS

  private

  def status(**facts)
    { **STATUS, "nodes" => [node(0), node(1)], "works" => [work], **facts.transform_keys(&:to_s) }
  end

  def node(id, **facts)
    { "id" => id, "pid" => Process.pid, "task" => 0, "mold" => 0, "state" => "ready",
      "assigned" => true, "restarts" => 0, "restarts_by" => {},
      "deaths" => { "boot" => 0, "work" => 0 },
      "crash_loop" => false, "last_exit" => nil, "beat_age" => 0.25, "unhealthy" => nil,
      "memory" => { "rss" => 3, "pss" => 2, "uss" => 1, "shared" => 2, "swap" => 0 },
      "work" => { "done" => 7 }, **facts.transform_keys(&:to_s) }
  end

  def work(**facts)
    { "work" => 0, "kind" => "block", "totals" => {}, "handler" => nil,
      "by_topic" => [],
      **facts.transform_keys(&:to_s) }
  end

  # Returns the metrics of a status, series => value.
  def figures(status)
    text = exposed(status)
    text.lines.grep_v(/\A#/).to_h { |line| line.chomp.rpartition(" ").values_at(0, 2) }
  end

  def exposed(status)
    exposition = Skep::Metrics::PrometheusText.new
    Skep::Metrics::SwarmCollector.new(exposition).collect(status, duration: 0.0021)
    Skep::Metrics::WorkCollector.new(exposition).collect(status)
    exposition.to_s
  end
end
