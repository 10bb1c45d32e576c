# frozen_string_literal: true

require "test_helper"
require_relative "snapshots"

class ReadinessTest < Skep::TestCase
  include Snapshots

  test "is ready while each kind of work has a ready node" do
    works = [work, work(work: 1, kind: "mail", name: "billing")]
    nodes = [node(0), node(1, state: "dead"), node(2, task: 1)]
    assert_nil problem(works:, nodes:)
    nodes[2]["state"] = "booting"
    assert_equal "none of the 1 nodes of work billing is ready", problem(works:, nodes:)
    nodes[2].merge!("state" => "ready", "unhealthy" => "no disk")
    assert_equal "none of the 1 nodes of work billing is ready", problem(works:, nodes:)
  end

  test "requires as many ready nodes as the request demands" do
    nodes = [node(0), node(1, state: "booting"), node("spare 0", task: nil, state: "spare")]
    assert_nil problem(nodes:, wanted: 1)
    assert_equal "1 of 2 nodes are ready, 2 must be", problem(nodes:, wanted: "all")
    assert_equal "1 of 2 nodes are ready, 9 must be", problem(nodes:, wanted: 9)
  end

  test "isn't ready in a crash loop, and reports how the last node ended" do
    { { "signal" => "SEGV" } => "SIGSEGV", { "exit_status" => 7 } => "exit status 7",
      nil => "an unknown cause" }.each do |last_exit, ending|
      nodes = [node(0), node(1, crash_loop: true, deaths: { "boot" => 2, "work" => 4 }, last_exit:)]
      assert_equal "node 1 is in a crash loop: 6 deaths since the swarm began, the last by " \
                   "#{ending}", problem(nodes:)
    end
  end

  test "isn't ready while it boots, and not once it is quiet or stopping" do
    assert_equal "it is booting", problem(state: "booting", nodes: [])
    assert_equal "it is quiet: its nodes fetch no new work", problem(state: "quiet")
    assert_equal "it is stopping", problem(state: "stopping")
    assert_equal "it has stopped", problem(state: "stopped")
  end

  private

  def problem(wanted: nil, **facts)
    Skep::Metrics::Readiness.problem(status(**facts), nodes: wanted)
  end
end
