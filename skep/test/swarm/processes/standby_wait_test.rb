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
    @reported = Queue.new
    report = ->(type, facts) { @reported << [type, facts] }
    @node = Swarm::Node.new(id: nil, page_index: 0, swarm: "a", mold: 0, page: @page, layout:,
                              placed: false, report:)
    @standby = Swarm::Processes::StandbyWait.new(@node, report:)
  end

  def teardown
    @node.leave
    @page.close
    ENV["SKEP_NODE_ID"] = @id
    super
  end

  test "waits for a slot, and takes the one that the supervisor assigns" do
    waiting = Thread.new { @standby.wait }
    assert_equal ["spare", {}], @reported.pop
    @standby.receive(Message.new("suspects", { "added" => [] }))
    @standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }, []))
    assert_equal 1, waiting.value
    assert_equal ["stepped_in", {}], @reported.pop
    assert_equal 3, @node.id
    assert_equal "3", ENV.fetch("SKEP_NODE_ID")
    assert @node.wait_for_predecessor
  end

  test "a spare that has waited for longer than boot_timeout has that time to boot again" do
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    spare = Skep::OS.stub(:now, Skep::OS.now - 7_200) do
      Swarm::Node.new(id: nil, page_index: 0, swarm: "a", mold: 0, page: @page, layout:,
                      placed: false, report: ->(*) {}, boot_timeout: 3_600)
    end
    assert_operator spare.__boot_time_left, :<, 0
    spare.__assign(3)
    assert_operator spare.__boot_time_left, :>, 0
  ensure
    spare&.leave
  end

  test "knows the options of its work before it reports that it has the slot" do
    report = ->(*said) { @reported << said }
    standby = Swarm::Processes::StandbyWait.new(@node, report:) do |task|
      @node.__take_work("work #{task}", beat_every: 3.0, stop_timeout: 7.0, boot_timeout: 9.0)
    end
    standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }, []))
    standby.wait
    @node.__stop
    assert_equal ["work 1", 3.0], [@node.work_name, @node.beat_every]
    assert_in_delta 7.0, @node.time_left, 5.0
    assert_operator @node.__boot_time_left, :<=, 9.0
  end

  test "has the pages that came with its slot" do
    shared = Skep::OS::SharedPage.create(2)
    shared.set(1, 3, 41)
    @standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }, [shared.to_io.dup]))
    @standby.wait
    assert_equal 41, @node.__progress_pages.own.get(1, 3)
    assert_nil @node.__progress_pages.former
  ensure
    shared&.close
  end

  test "holds back ready! of on_boot until the spare has a slot" do
    assert @standby.hold_back?("ready")
    refute @standby.hold_back?("event")
    @standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }, []))
    @standby.wait
    assert_equal %w[spare stepped_in ready], Array.new(3) { @reported.pop.first }
    refute @standby.hold_back?("ready")
  end

  test "ends its wait at a stop, and ignores a slot that is assigned then" do
    waiting = Thread.new { @standby.wait }
    assert_equal ["spare", {}], @reported.pop
    @node.__stop
    assert_nil waiting.value
    @standby.receive(Message.new("step_in", { "node" => 3, "task" => 1 }, []))
    assert_nil @node.id
  end
end
