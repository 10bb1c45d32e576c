# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class AwaitOtherNodesTest < Skep::TestCase
  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @said = Queue.new
    @node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page: @page, layout:,
                                    report: ->(type, _facts) { @said << type })
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  test "waits in a stop of the whole swarm until the others have finished" do
    @node.__stop(all: true)
    waiting = Thread.new { @node.__await_other_nodes(30.0) }
    assert_equal %w[leaving finished], Array.new(2) { @said.pop }
    assert_predicate waiting, :alive?
    @node.__all_finished
    assert waiting.join(20)
  end

  test "waits no longer than it was told to" do
    @node.__stop(all: true)
    @node.__await_other_nodes(0.01)
    assert_equal 2, @said.size
  end

  test "knows whether the whole swarm stops" do
    @node.__stop(scaling_down: true)
    refute_predicate @node, :__all_stop?
    @node.__all_finished # nobody waits for it
    @node.__stop(all: true)
    assert_predicate @node, :__all_stop?
  end

  test "has nobody to wait for once its supervisor has died" do
    @node.__stop(all: true)
    assert_predicate @node, :__others_to_await?
    @node.__all_finished
    refute_predicate @node, :__others_to_await?
    assert_predicate @node, :__all_stop?
  end
end
