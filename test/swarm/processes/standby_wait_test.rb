# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class StandbyWaitTest < Skep::TestCase
  Swarm = Skep::Swarm
  Message = Swarm::IPC::Channel::Message
  private_constant :Swarm, :Message

  def setup
    super
    @id = ENV.fetch("SKEP_NODE_ID", nil)
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @said = Queue.new
    report = ->(type, facts) { @said << [type, facts] }
    @node = Swarm::Node.new(id: nil, page_index: 0, swarm: "a", mold: 0, page: @page, layout:,
                              placed: false, report:)
    @standby = Swarm::Processes::NodeMain::StandbyWait.new(@node, report:)
  end

  def teardown
    @node.leave
    @page.close
    ENV["SKEP_NODE_ID"] = @id
    super
  end

  test "waits, and takes the slot that it is given" do
    waiting = Thread.new { @standby.wait }
    assert_equal ["spare", {}], @said.pop
    @standby.receive(Message.new("suspects", { "added" => [] }))
    @standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }))
    assert_equal 1, waiting.value
    assert_equal ["stepped_in", {}], @said.pop
    assert_equal 3, @node.id
    assert_equal "3", ENV.fetch("SKEP_NODE_ID")
    assert @node.wait_for_predecessor
  end

  test "a spare that was ready in on_boot is ready once it has a slot" do
    assert @standby.hold_back?("ready")
    refute @standby.hold_back?("event")
    @standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }))
    @standby.wait
    assert_equal %w[spare stepped_in ready], Array.new(3) { @said.pop.first }
    refute @standby.hold_back?("ready")
  end

  test "ends its wait when it is to stop, and outlives a slot that it is given then" do
    waiting = Thread.new { @standby.wait }
    assert_equal ["spare", {}], @said.pop
    @node.__stop
    assert_nil waiting.value
    @standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }))
    assert_nil @node.id
  end
end
