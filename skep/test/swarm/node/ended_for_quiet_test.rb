# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class EndedForQuietTest < Skep::TestCase
  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page: @page, layout:, report: proc {})
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  test "work that wait or quiet? has told of the quiet ends for it, also if that is over by then" do
    [-> { @node.wait(0) }, -> { @node.quiet? }].each do |ask|
      @node.__quiet
      assert ask.call
      @node.__resume
      assert_predicate @node, :__ended_for_quiet?
      refute ask.call
      refute_predicate @node, :__ended_for_quiet?
    end
  end

  test "work that never asked, and work that was told of a stop, doesn't" do
    @node.__quiet
    refute_predicate @node, :__ended_for_quiet?
    @node.__stop
    assert @node.wait(0)
    refute_predicate @node, :__ended_for_quiet?
  end
end
