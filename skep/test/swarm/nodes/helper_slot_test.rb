# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class HelperSlotTest < Skep::TestCase
  Nodes = Skep::Swarm::Nodes
  Mold = Struct.new(:number)
  # In place of the channel: records what is posted.
  Channel = Struct.new(:posted, :full) do
    def post(type, facts = {}, lend: [], may_drop: false)
      return false if may_drop && full.call

      posted << [type, facts["name"], facts["level"], *lend, *(:may_drop if may_drop)]
    end
  end
  private_constant :Nodes, :Mold, :Channel

  def setup
    super
    @helper = Nodes::HelperSlot.new(%w[node_died])
    @posted = []
  end

  test "sends the events that it subscribes to, which may be dropped, and no others" do
    launch
    @helper.post_event("node_died", { node: 1 }, :warn)
    @helper.post_event("node_ready", { node: 1 })
    @helper.subscribe(%w[node_ready])
    @helper.post_event("node_ready", { node: 2 })
    assert_equal [["event", "node_died", "warn", :may_drop],
                  ["event", "node_ready", nil, :may_drop]], @posted
  end

  test "sends every event once it subscribes to all, but none about the helper itself" do
    launch
    @helper.subscribe_all
    @helper.post_event("order_paid", { node: 1 })
    @helper.post_event("node_died", { node: "helper" })
    assert_equal %w[order_paid], names
  end

  test "keeps events while there is no process, in order, and at most a thousand" do
    @helper.subscribe_all
    1_001.times { |number| @helper.post_event("event_#{number}", {}) }
    launch
    assert_equal Array.new(1_000) { |number| "event_#{number}" }, names
    @helper.post_event("later", {})
    assert_equal "later", names.last
  end

  test "counts the events that a full channel refuses, and reports them once there is room" do
    launch
    @full = true
    3.times { @helper.post_event("node_died", {}) }
    assert_equal 0, @helper.take_dropped
    @full = false
    @helper.post_event("node_died", {})
    assert_equal [3, 0], Array.new(2) { @helper.take_dropped }
  end

  test "counts the events beyond its backlog, and reports them at the end at the latest" do
    1_003.times { @helper.post_event("node_died", {}) }
    assert_equal [0, 3, 0], [@helper.take_dropped, @helper.take_dropped(last: true),
                             @helper.take_dropped(last: true)]
  end

  test "lends its socket to its process and to the next one" do
    launch
    @helper.serve(:socket)
    assert_equal [["serve", nil, nil, :socket]], @posted
    @posted.clear
    launch
    assert_equal [["serve", nil, nil, :socket]], @posted
  end

  test "stop_last sends one stop, even if it is called twice" do
    launch
    2.times { @helper.stop_last }
    assert_equal [["stop", nil, nil]], @posted
  end

  private

  def names = @posted.map { |post| post[1] }

  # Gives the slot a process, in place of the last one.
  def launch
    @helper.node&.then do |node|
      node.ended(nil)
      @helper.leave(node, nil, 2.0, within: 60.0)
    end
    node = Nodes::NodeProcess.new(0, @helper, Mold.new(0), 1.0)
    channel = Channel.new(@posted, -> { @full })
    def channel.close = nil
    node.listens_to(channel)
    @helper.launch(node)
  end
end
