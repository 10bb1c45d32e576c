# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class NodeMainTest < Skep::TestCase
  # In place of the control thread: a channel that can be full.
  class Control
    attr_accessor :full
    attr_reader :posted

    def initialize = @posted = []

    def post(type, facts, may_drop: false)
      return false if may_drop && full

      posted << [type, *facts["name"], *facts.dig("facts", "count")]
      true
    end

    def leave = nil
  end
  private_constant :Control

  test "the report of dropped events isn't dropped itself" do
    control = Control.new
    node = node(control)
    control.full = true
    5.times { report(node, "event", "name" => "x") }
    report(node, "assigned") # it may not be dropped: a full channel takes it
    report(node, "event", "name" => "x")
    control.full = false
    2.times { report(node, "event", "name" => "y") }
    assert_equal [["assigned"], %w[event y], ["event", "events_dropped", 6], %w[event y]],
                 control.posted
  end

  test "a report says whether the channel took it" do
    control = Control.new
    node = node(control)
    control.full = true
    assert_equal [false, true], (%w[work assigned].map { |type| report(node, type) })
    control.full = false
    assert_equal [true, true], (Array.new(2) { report(node, "work") }), "with events_dropped before"
  end

  private

  def report(node, type, **facts) = node.send(:report, type, facts.transform_keys(&:to_s))

  def node(control)
    config = Skep::Swarm::Definition::Config.new("a", {})
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    swarm = Skep.swarm("a") { |one| one.work { nil } }
    birth = { "node" => 0, "page_index" => 0, "mold" => 0, "task" => 0, "placed" => true,
              "suspects" => [] }
    @main = Skep::Swarm::Processes::NodeMain.new(swarm, birth, channel: nil, page: @page, layout:,
                                                               config:, control:)
  end

  def teardown
    @main&.leave
    @page&.close
    super
  end
end
