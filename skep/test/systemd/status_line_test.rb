# frozen_string_literal: true

require "test_helper"
require "skep/systemd"

class StatusLineTest < Skep::TestCase
  StatusLine = Skep::Systemd::StatusLine
  Supervisor = Struct.new(:state, :node_pool, :failures, :outcome, keyword_init: true) do
    def stopping? = %i[stopping stopped].include?(state)
    def file = "swarm.rb"
  end
  NodePool = Struct.new(:slots, :spare_slots, :node_table, keyword_init: true)
  NodeTable = Struct.new(:nodes)
  Slot = Struct.new(:state) do
    def nodes = state == :ready ? [Node.new(true)] : []
    def looping? = state == :looping
    def waiting? = state == :waiting
  end
  Node = Struct.new(:ready) do
    def ready? = ready
    def helper? = false
  end
  private_constant :StatusLine, :Supervisor, :NodePool, :NodeTable, :Slot, :Node

  test "counts the nodes that are ready, in a crash loop or waiting, and the spares" do
    assert_equal "1 node ready", line(slots: %i[ready])
    assert_equal "2 nodes ready, 1 spare", line(slots: %i[ready ready], spares: %i[ready waiting])
    assert_equal "1 of 4 nodes ready, 1 in a crash loop, 1 waiting to restart",
                 line(slots: %i[ready looping waiting booting])
    assert_equal "quiet, 1 node ready", line(state: :quiet)
  end

  test "reports the swarm's state before and after its nodes run" do
    assert_equal "loading swarm.rb", line(state: :booting)
    assert_equal "stopping, 1 node left", line(state: :stopping)
    assert_equal "ended", line(state: :stopped)
    assert_equal "gave up on a crash loop", line(state: :stopped, outcome: :gave_up)
    assert_equal "no broker", line(state: :stopped, failures: ["no broker"])
  end

  test "adds what is in progress, and what failed last" do
    assert_equal "restart in progress, 1 node ready", line(in_progress: "restart")
    assert_equal "1 node ready; the last reload failed: no",
                 line(failure: "the last reload failed: no")
  end

  test "shortens what failed last, after a word" do
    options = (1..28).map { |number| "option#{number}" }.join(", ")
    failure = "the last reload failed: swarm.rb: ArgumentError while it was loaded, line 5: " \
              "unknown option grp: it takes #{options}"

    assert_equal "1 node ready; the last reload failed: swarm.rb: ArgumentError while it was " \
                 "loaded, line 5: unknown option grp: it takes option1, option2, option3 …",
                 line(failure:)
  end

  test "cuts no secret in two" do
    text = line(failure: "#{"x" * 120} redis://user:hunter2hunter2hunter2@h")

    refute_includes text, "hunter"
  end

  test "leaves out what failed last once the swarm stops" do
    failure = "the last reload failed: no"
    assert_equal "stopping, 1 node left", line(state: :stopping, failure:)
    assert_equal "ended", line(state: :stopped, failure:)
  end

  test "is one short line without secrets" do
    text = line(state: :stopped, failures: ["redis://u:hunter2@h\n#{"x" * 1_000}"])

    assert_equal ["redis://u:[secret]@h xxx", 400], [text[0, 24], text.size]
  end

  private

  def line(slots: %i[ready], spares: [], in_progress: nil, failure: nil, **state)
    node_pool = NodePool.new(slots: slots.map { |one| Slot.new(one) },
                             spare_slots: spares.map { |one| Slot.new(one) },
                             node_table: NodeTable.new([Node.new(true)]))
    supervisor = Supervisor.new(state: :running, failures: [], node_pool:, **state)
    StatusLine.of(supervisor, in_progress:, failure:)
  end
end
