# frozen_string_literal: true

require "test_helper"
require "support/fiber_loop"
require "skep/swarm"

# A node's work may run in fibers under a scheduler. A fiber that waits blocks no other fiber.
class SwarmFibersTest < Skep::TestCase
  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 0)
    @page = Skep::OS::SharedPage.create(layout.total)
    @node = Skep::Swarm::Node.new(id: 0, swarm: "fibers", mold: 0, page: @page, layout:,
                                    report: ->(*) {}, beat_every: 10.0)
  end

  def teardown
    @page.close
    @node.leave
    super
  end

  test "a fiber that waits lets other fibers run" do
    returned = []
    FiberLoop.run(-> { returned << @node.wait(10) }, -> { returned << :works && @node.__stop })
    assert_equal [:works, true], returned
  end

  test "each fiber's wait returns at its own deadline" do
    assert_equal [false, false], FiberLoop.run(-> { @node.wait(0.1) }, -> { @node.wait(0.02) })
    returned = []
    FiberLoop.run(-> { returned << [:late, @node.wait(60)] },
                  -> { returned << [:early, @node.wait(0.02)] and @node.__stop })
    assert_equal [[:early, false], [:late, true]], returned
  end
end
