# frozen_string_literal: true

require "test_helper"
require_relative "snapshots"

class MetricsAppTest < Skep::TestCase
  include Snapshots

  Query = Struct.new(:answer) do
    def ask(_timeout) = answer
  end
  private_constant :Query

  test "serves the metrics and the swarm's health" do
    code, headers, body = get("/metrics")

    assert_equal [200, "text/plain; version=0.0.4; charset=utf-8"], [code, headers["content-type"]]
    assert_includes body, "skep_nodes_wanted 2\n"
    assert_equal [200, "swarm billing is running\n"], get("/healthz").values_at(0, 2)
    assert_equal [200, "ready\n"], get("/readyz").values_at(0, 2)
  end

  test "serves what is wrong with the swarm" do
    problem = { "kind" => "hung", "subject" => "node 3" }
    code, headers, body = get("/status", status: status(problems: [problem]))

    assert_equal [200, "application/json"], [code, headers["content-type"]]
    assert_equal({ "name" => "billing", "state" => "running", "problems" => [problem] },
                 JSON.parse(body))
  end

  test "answers 503 and why, if too few nodes are ready" do
    status = status(nodes: [node(0), node(1, state: "booting")])

    assert_equal [200, "ready\n"], get("/readyz", "nodes=1", status:).values_at(0, 2)
    assert_equal [503, "not ready: 1 of 2 nodes are ready, 2 must be\n"],
                 get("/readyz", "x=1&nodes=all", status:).values_at(0, 2)
    assert_equal 200, get("/readyz", "nodes=many", status:).first
  end

  test "answers 503 if the supervisor doesn't answer" do
    %w[/metrics /status /healthz /readyz].each do |path|
      assert_equal [503, "the supervisor didn't answer within 2 s\n"],
                   get(path, status: nil).values_at(0, 2)
    end
  end

  test "answers 405 to what isn't a GET or HEAD, and 404 to other paths" do
    code, headers, = get("/metrics", method: "POST")

    assert_equal [405, "GET, HEAD"], [code, headers["allow"]]
    assert_equal [200, ""], get("/metrics", method: "HEAD").values_at(0, 2)
    assert_equal [404, "there are /metrics, /status, /healthz and /readyz\n"],
                 get("/").values_at(0, 2)
  end

  private

  def get(path, query = "", method: "GET", status: status())
    app = Skep::Metrics::App.new(Skep::Metrics::StatusCache.new(Query.new(status)))
    code, headers, body = app.call({ "REQUEST_METHOD" => method, "PATH_INFO" => path,
                                     "QUERY_STRING" => query })
    [code, headers, body.join]
  end
end
