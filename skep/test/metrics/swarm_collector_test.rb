# frozen_string_literal: true

require "test_helper"
require "skep/log"
require_relative "snapshots"

class SwarmCollectorTest < Skep::TestCase
  include Snapshots

  test "reports the swarm, its nodes and its supervisor" do
    spare = node("spare 0", task: nil, state: "spare", memory: nil, beat_age: nil, pid: nil)
    metrics = figures(status(nodes: [node(0, restarts_by: { "signal" => 2, "memory_limit" => 1 }),
                                     node(1, state: "waiting", crash_loop: true,
                                             unhealthy: "no disk"),
                                     spare]))
    {
      'skep_build_info{swarm="billing",version="1.2.3",ruby="3.4.1",revision="4f0c1e2"}' => "1",
      'skep_swarm_state{state="running"}' => "1", 'skep_swarm_state{state="quiet"}' => "0",
      "skep_nodes_wanted" => "2", 'skep_nodes{state="ready"}' => "1",
      'skep_nodes{state="spare"}' => "1",
      'skep_node_state{node="1",state="waiting"}' => "1", 'skep_node_crash_loop{node="1"}' => "1",
      'skep_node_unhealthy{node="1"}' => "1", 'skep_node_memory_bytes{node="0",kind="uss"}' => "1",
      'skep_node_beat_age_seconds{node="0"}' => "0.25", 'skep_node_done_total{node="0"}' => "7",
      'skep_node_restarts_total{node="0",reason="signal"}' => "2",
      'skep_node_restarts_total{node="0",reason="memory_limit"}' => "1",
      'skep_node_restarts_total{node="1",reason="hung"}' => "0",
      'skep_events_total{event="node_died"}' => "2", "skep_recovery_seconds_count" => "2",
      'skep_recovery_seconds_bucket{le="0.025"}' => "1", "skep_answer_seconds" => "0.0021",
      'skep_supervisor_memory_bytes{kind="rss"}' => "12000000",
      "skep_supervisor_descriptors" => "21"
    }.each { |series, value| assert_equal value, metrics[series], series }
    refute metrics.key?('skep_node_beat_age_seconds{node="spare 0"}')
    refute metrics.key?('skep_node_memory_bytes{node="spare 0",kind="rss"}')
  end

  test "reports how many problems of each kind there are, 0 of the others" do
    problems = [{ "kind" => "hung" }, { "kind" => "hung" }, { "kind" => "of_a_plugin" }]
    metrics = figures(status(problems:))
    expected = Skep::Swarm::Diagnosis.kinds.to_h { |kind| [kind, "0"] }
    found = metrics.filter_map do |series, value|
      [$1, value] if series =~ /skep_problem\{kind="(\w+)"/
    end
    assert_equal({ **expected, "hung" => "2", "of_a_plugin" => "1" }, found.to_h)
  end

  test "reports every reason of a restart from the start" do
    reasons = documented_reasons
    assert_includes reasons, "reload"
    assert_includes reasons, "stop_timeout"
    metrics = figures(status)
    reasons.each do |reason|
      series = "skep_node_restarts_total{node=\"1\",reason=\"#{reason}\"}"
      assert_equal "0", metrics[series], series
    end
  end

  test "reports important events from the start" do
    metrics = figures(status)
    %w[restart_finished reload_finished reload_failed node_hung crash_loop]
      .each { |event| assert_equal "0", metrics["skep_events_total{event=\"#{event}\"}"], event }
    assert_equal "2", metrics['skep_events_total{event="node_died"}']
    names = metrics.keys.grep(/events_total/).map { |series| series[/event="(.*)"/, 1] }
    assert_empty names - Skep::Log::EventCatalog.names
  end

  test "reports each event that the dashboard or an alert names from the start" do
    named = ["examples/grafana/skep.json", "docs/reference/metrics.md"].flat_map do |path|
      text = File.read(File.expand_path("../../../#{path}", __dir__), encoding: "UTF-8")
      text.scan(/skep_events_total\{.*?event=~?\\?"([\w|]+)/).join("|").split("|")
    end
    refute_empty named
    metrics = figures(status)
    assert_empty(named.reject { |event| metrics.key?("skep_events_total{event=\"#{event}\"}") })
  end

  test "reports the nodes of each work, and which work a node does" do
    works = [work(name: "web", nodes: 1), work(work: 1, name: "orders", nodes: 2)]
    nodes = [node(0), node(1, task: 1), node(2, task: 1, state: "booting"),
             node("spare 0", task: nil, state: "spare")]
    metrics = figures(status(works:, nodes:))
    { 'skep_work_nodes_wanted{work="0",work_name="web"}' => "1",
      'skep_work_nodes_wanted{work="1",work_name="orders"}' => "2",
      'skep_work_nodes{work="1",work_name="orders",state="ready"}' => "1",
      'skep_work_nodes{work="1",work_name="orders",state="booting"}' => "1",
      'skep_node_work{node="2",work="1",work_name="orders"}' => "1" }
      .each { |series, value| assert_equal value, metrics[series], series }
    refute(metrics.keys.any? { |series| series.start_with?('skep_node_work{node="spare') })
  end

  test "reports the totals of another kind of work" do
    metrics = figures(status(works: [work(kind: "mail", totals: { "sent" => 4, "bounced" => 1 })]))
    assert_equal %w[4 1], metrics.values_at('skep_work_total{work="0",name="sent"}',
                                            'skep_work_total{work="0",name="bounced"}')
  end

  test "ignores invalid facts of a node's work" do
    [{ "kind" => 1 }, { "kind" => "mail", "group" => [] }, { "done" => "a lot" }].each do |work|
      assert_equal "2", figures(status(nodes: [node(0, work:), node(1)]))["skep_nodes_wanted"]
    end
  end

  private

  # Those of docs/reference/metrics.md and events.md. A swarm that stops or shrinks starts no new
  # process.
  def documented_reasons
    metrics, events = %w[metrics events].map do |page|
      File.read(File.expand_path("../../../docs/reference/#{page}.md", __dir__), encoding: "UTF-8")
    end
    own = metrics[/^\| `reason` \| (.*)/, 1].scan(/`(\w+)`/).flatten
    rows = events[/^## Reasons\n(.*?)^## /m, 1].scan(/^\| (`.*?) \|/).flatten.join
    own + rows.scan(/`(\w+)`/).flatten - %w[TERM INT QUIT scale boot_failed]
  end
end
