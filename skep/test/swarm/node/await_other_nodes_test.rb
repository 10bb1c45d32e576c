# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class AwaitOtherNodesTest < Skep::TestCase
  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @reported = Queue.new
    @node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page: @page, layout:,
                                    report: ->(type, _facts) { @reported << type })
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  test "in a stop of the whole swarm, waits until all other nodes have finished" do
    @node.__stop(all: true)
    waiting = Thread.new { @node.__await_other_nodes(30.0) }
    assert_equal %w[leaving finished], Array.new(2) { @reported.pop }
    assert_predicate waiting, :alive?
    @node.__all_finished
    assert waiting.join(20)
  end

  test "stops waiting at its timeout" do
    @node.__stop(all: true)
    @node.__await_other_nodes(0.01)
    assert_equal 2, @reported.size
  end

  test "__all_stop? is true only if the whole swarm stops" do
    @node.__stop(scaling_down: true)
    refute_predicate @node, :__all_stop?
    @node.__all_finished # no thread waits for it
    @node.__stop(all: true)
    assert_predicate @node, :__all_stop?
  end

  test "awaits no other node after __all_finished, which the supervisor's death calls too" do
    @node.__stop(all: true)
    assert_predicate @node, :__others_to_await?
    @node.__all_finished
    refute_predicate @node, :__others_to_await?
    assert_predicate @node, :__all_stop?
  end
end
