# frozen_string_literal: true

require "test_helper"
require_relative "snapshots"

class MetricsAppTest < Skep::TestCase
  include Snapshots

  # Answers as a supervisor would, and counts how often it is asked.
  class Line
    attr_reader :asked
    attr_writer :status

    def initialize(status)
      @status = status
      @asked = 0
    end

    def ask(_seconds)
      @asked += 1
      @status
    end
  end

  test "tells the figures, and how the swarm is" do
    app = app(Line.new(status))
    code, headers, body = get(app, "/metrics")
    assert_equal [200, "text/plain; version=0.0.4; charset=utf-8"], [code, headers["content-type"]]
    assert_includes body, "skep_nodes_wanted 2\n"
    assert_equal [200, "swarm billing is running\n"], get(app, "/healthz").values_at(0, 2)
    assert_equal [200, "ready\n"], get(app, "/readyz").values_at(0, 2)
  end

  test "says why it isn't ready" do
    app = app(Line.new(status(nodes: [node(0), node(1, state: "booting")])))
    assert_equal [200, "ready\n"], get(app, "/readyz", "nodes=1").values_at(0, 2)
    assert_equal [503, "not ready: 1 of 2 nodes are ready, 2 must be\n"],
                 get(app, "/readyz", "x=1&nodes=all").values_at(0, 2)
    assert_equal 200, get(app, "/readyz", "nodes=many").first
  end

  test "answers for a supervisor that doesn't" do
    app = app(Line.new(nil))
    silence = [503, "the supervisor didn't answer within 2 s\n"]
    %w[/metrics /healthz /readyz].each do |path|
      assert_equal silence, get(app, path).values_at(0, 2)
    end
  end

  test "asks the supervisor once for all who ask at the same time" do
    line = Line.new(status)
    app = app(line)
    Array.new(4) { Thread.new { 5.times { get(app, "/metrics") } } }.each(&:join)
    assert_operator line.asked, :<, 20
  end

  test "is only read, and leaves other paths to who has them" do
    app = app(Line.new(status))
    code, headers, = get(app, "/metrics", method: "POST")
    assert_equal [405, "GET, HEAD"], [code, headers["allow"]]
    assert_equal [200, ""], get(app, "/metrics", method: "HEAD").values_at(0, 2)
    assert_equal [404, "there are /metrics, /healthz and /readyz\n"], get(app, "/").values_at(0, 2)

    page = ->(env) { [200, {}, ["the page #{env["PATH_INFO"]}"]] }
    mounted = app(Line.new(status), rest: page)
    assert_equal "the page /nodes/3", get(mounted, "/nodes/3", method: "POST").last
    assert_equal 200, get(mounted, "/healthz").first
  end

  test "tells no secret that a work tells" do
    line = Line.new(status(nodes: [node(0, work: { "url" => "redis://u:hunter2@host" })]))
    facts = Skep::Watch::Metrics::Facts.new(line)
    refute_includes JSON.generate(facts.now), "hunter2"
  end

  private

  def app(line, **rest)
    Skep::Watch::Metrics::App.new(Skep::Watch::Metrics::Facts.new(line), **rest)
  end

  def get(app, path, query = "", method: "GET")
    code, headers, body = app.call({ "REQUEST_METHOD" => method, "PATH_INFO" => path,
                                     "QUERY_STRING" => query })
    [code, headers, body.join]
  end
end
