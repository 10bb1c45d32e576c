# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# On a real event loop, with nodes that only record what they are asked.
class ProfileCollectorTest < Skep::TestCase
  Profiling = Skep::Swarm::Profiling
  Slot = Struct.new(:work_name)
  private_constant :Profiling, :Slot

  FakeNode = Struct.new(:label, :pid, :state, :asked) do
    def ready? = state == :ready
    def slot = Slot.new("orders")
    def channel = self
    def post(*message) = self.asked = message
  end
  private_constant :FakeNode

  def setup
    super
    @loop = Skep::OS::EventLoop.new
    @collector = Profiling::ProfileCollector.new(loop: @loop)
    @nodes = [FakeNode.new(0, 10, :ready), FakeNode.new(1, 11, :ready)]
    @answers = []
  end

  def teardown
    @loop.close
    super
  end

  test "asks the nodes at once, and answers when all have sent theirs" do
    assert_nil start(7)
    assert_equal ["profile", { "seconds" => 7, "bytes" => Profiling::NODE_BYTES }], @nodes[1].asked
    @collector.add(@nodes[0], { "profile" => "a" })
    assert_empty @answers
    @collector.add(@nodes[1], { "profile" => "b" })
    assert_equal [{ seconds: 7, missing: [],
                    nodes: [{ node: 0, work: "orders", pid: 10, profile: "a" },
                            { node: 1, work: "orders", pid: 11, profile: "b" }] }], @answers
  end

  test "reports the nodes that end, can't or aren't ready by name, and answers with the others'" do
    @nodes << FakeNode.new(2, nil, :booting) << FakeNode.new(3, 13, :ready)
    start(7)
    assert_nil @nodes[2].asked
    @collector.lost(@nodes[1])
    @collector.add(@nodes[3], { "refused" => "no memory" })
    @collector.add(@nodes[0], { "profile" => "a" })
    answer = @answers.first
    assert_equal [0], (answer[:nodes].map { |node| node[:node] })
    assert_equal({ 1 => "it ended meanwhile", 2 => "it is booting", 3 => "no memory" },
                 answer[:missing].to_h { |node| node.values_at(:node, :why) })
  end

  test "answers some seconds after the end without the nodes that don't" do
    Skep::OS.run_on(Ahead.new(Skep::OS.machine)) do
      start(7)
      @collector.add(@nodes[0], { "profile" => "a" })
      Skep::OS.machine.ahead = 60
      @loop.turn(0)
    end
    assert_match(/didn't answer/, @answers.dig(0, :missing, 0, :why))
    assert_equal [0], (@answers.dig(0, :nodes).map { |node| node[:node] })
    assert_nil start(1)
  end

  test "refuses a second profile, with the seconds until it may be asked for, and takes it then" do
    start(7)
    assert_match(/another profile of this swarm is being taken: try again in 7 s/, start(1))
    @nodes.each { |node| @collector.lost(node) }
    assert_nil start(1)
    assert_equal 1, @answers.size
  end

  test "a profile that is larger than was asked for is left out" do
    start(7)
    @collector.lost(@nodes[1])
    @collector.add(@nodes[0], { "profile" => "a" * (Profiling::NODE_BYTES + 1) })
    assert_equal ["its profile is too large", "it ended meanwhile"],
                 (@answers.dig(0, :missing).map { |node| node[:why] })
  end

  test "many nodes share the bytes" do
    nodes = Array.new(400) { |id| FakeNode.new(id, id, :ready) }
    @collector.start(nodes, 1) { nil }
    assert_equal Profiling::BYTES / 400, nodes.first.asked.last["bytes"]
  end

  test "an answer that nobody awaits is ignored, and a swarm without nodes answers at once" do
    @collector.add(@nodes[0], { "profile" => "a" })
    @collector.lost(@nodes[0])
    @collector.start([], 5) { |facts| @answers << facts }
    @loop.turn(0)
    assert_equal [{ seconds: 5, nodes: [], missing: [] }], @answers
  end

  # A machine whose clock can be put forward.
  class Ahead < SimpleDelegator
    attr_writer :ahead

    def now = __getobj__.now + @ahead.to_i
  end
  private_constant :Ahead

  private

  def start(seconds) = @collector.start(@nodes, seconds) { |facts| @answers << facts }
end
