# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ImpliedReadyTest < Skep::TestCase
  WorkSpec = Skep::Swarm::WorkSpec
  Source = Struct.new(:work) do
    def run(node, _handler) = work.call(node)
  end
  private_constant :WorkSpec, :Source

  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @reported = []
    @node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page: @page, layout:,
                                  report: ->(type, _facts) { @reported << type })
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  { beat: [], wait: [0], wait_for: [[], 0] }.each do |name, arguments|
    test "the first #{name} of a plain block reports the node as ready, once" do
      run_block { |node| 2.times { node.public_send(name, *arguments) } }

      assert_equal ["ready"], @reported
    end
  end

  test "a plain block that calls ready! reports it at that moment" do
    run_block do |node|
      node.ready!
      node.beat
    end

    assert_equal ["ready"], @reported
  end

  test "a plain block without a sign of life is not ready" do
    run_block { |node| node.busy(for: 1) { nil } }

    assert_empty @reported
  end

  test "a beat before the work, as in on_boot, does not report the node as ready" do
    @node.beat
    @node.wait(0)

    assert_empty @reported
  end

  test "a source reports by ready! alone that the node is ready" do
    WorkSpec.new(Source.new(->(node) { node.wait(0) }), :handler).run(@node)

    assert_empty @reported
  end

  private

  def run_block(&block) = WorkSpec.new(nil, block).run(@node)
end
