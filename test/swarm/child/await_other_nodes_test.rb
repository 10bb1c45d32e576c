# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class AwaitOtherNodesTest < Skep::TestCase
  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @said = Queue.new
    @child = Skep::Swarm::Child.new(id: 0, swarm: "a", mold: 0, page: @page, layout:,
                                    report: ->(type, _facts) { @said << type })
  end

  def teardown
    @child.leave
    @page.close
    super
  end

  test "waits in a stop of the whole swarm until the others have finished" do
    @child.__stop(all: true)
    waiting = Thread.new { @child.__await_other_nodes(30.0) }
    assert_equal %w[leaving finished], Array.new(2) { @said.pop }
    assert_predicate waiting, :alive?
    @child.__all_finished
    assert waiting.join(20)
  end

  test "waits no longer than it was told to" do
    @child.__stop(all: true)
    @child.__await_other_nodes(0.01)
    assert_equal 2, @said.size
  end

  test "doesn't wait where only this node stops" do
    @child.__stop(for_good: true)
    @child.__await_other_nodes(30.0)
    @child.__all_finished # nobody waits for it
    assert_equal ["leaving"], Array.new(@said.size) { @said.pop }
  end

  test "waits where the swarm stops while the node does" do
    @child.__stop
    @child.__stop(all: true)
    @child.__await_other_nodes(0.01)
    assert_equal %w[leaving finished], Array.new(2) { @said.pop }
  end
end
