# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class StopBarrierTest < Skep::TestCase
  Swarm = Skep::Swarm
  Node = Struct.new(:name, :task, :sent, :live, :lost) do
    def live? = live
    def lost? = lost
    def helper? = task.nil?
    def channel = self
    def post(type) = sent << type
  end
  private_constant :Swarm, :Node

  def setup
    super
    @group = %i[a b c].map { |name| Node.new(name, 0, [], true) }
    @others = %i[d e].map { |name| Node.new(name, 1, [], true) }
    @barrier = barrier([*@group, *@others, Node.new(:helper, nil, [], true)])
  end

  def barrier(nodes, tasks: [{ "facts" => {} }] * 2)
    Swarm::Nodes::StopBarrier.new(nodes, tasks)
  end

  test "reports all_finished to all nodes of a kind of work once the last finished" do
    @group.first(2).each { |node| @barrier.finished(node) }
    assert_empty @group.flat_map(&:sent)
    @barrier.finished(@group.last)
    assert_equal [["all_finished"]] * 3, @group.map(&:sent)
    assert_empty @others.flat_map(&:sent)
  end

  test "doesn't wait for a node that has ended, and sends it nothing" do
    @barrier.finished(@group[0])
    @group[0].live = false
    [0, 1].each { |index| @barrier.gone(@group[index]) }
    assert_empty @group.flat_map(&:sent)
    @barrier.finished(@group[2])
    assert_equal [[], [], ["all_finished"]], @group.map(&:sent)
  end

  test "doesn't wait for nodes that were lost before or never forked" do
    @group[0].lost = true
    barrier = barrier(@group)
    barrier.finished(@group[1])
    barrier.gone(@group[2])
    assert_equal [[], ["all_finished"], []], @group.map(&:sent)
  end

  test "several kinds of work in one group wait for each other" do
    barrier = barrier([*@group, *@others], tasks: [{ "facts" => { "group" => "readers" } }] * 2)
    @group.each { |node| barrier.finished(node) }
    assert_empty @group.flat_map(&:sent)
    @others.each { |node| barrier.finished(node) }
    assert_equal [["all_finished"]] * 5, [*@group, *@others].map(&:sent)
  end

  test "sends nothing to a node that was forked after the stop began" do
    late_node = Node.new(:f, 7, [], true)
    @barrier.finished(late_node)
    assert_empty late_node.sent
  end
end
