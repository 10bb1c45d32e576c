# frozen_string_literal: true

require "test_helper"
require "skep/control"

# The numbers of the charts that the supervisor keeps.
class SeriesHistoryTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :figures) do
    def events = @events ||= Skep::Swarm::Runtime::EventBus.new
  end
  private_constant :Supervisor

  def setup
    @loop = Skep::OS::EventLoop.new
    @series = Skep::Control::SeriesHistory.new(Supervisor.new(@loop, figures))
  end

  def teardown = @loop.close

  test "private and shared memory, rates and lag are summed up, spares do no work" do
    @series.add(figures(node(0, uss: 10, pss: 15, rate: 2.5, lag: 3),
                        node(1, uss: 20, pss: 25, rate: 1.0, lag: 4),
                        node("spare 0", uss: 1, pss: 2, rate: 9.0)), 1.0)
    lines = @series.to_plain[:lines]
    assert_equal({ "own" => [31], "shared" => [11], "rate" => [3.5], "lag" => [7],
                   "node/0" => [10], "node/1" => [20], "node/spare 0" => [1] }, lines)
  end

  test "a node that comes or goes has no value before and after" do
    @series.add(figures(node(0, uss: 1, pss: 1)), 10.0)
    @series.add(figures(node(0, uss: 2, pss: 2), node(1, uss: 3, pss: 3)), 25.04)
    @series.add(figures(node(1)), 40.0)
    plain = @series.to_plain
    assert_equal [10.0, 25.0, 40.0], plain[:at]
    assert_equal [[1, 2, nil], [nil, 3, nil], [nil, nil, nil]],
                 plain[:lines].values_at("node/0", "node/1", "lag")
  end

  test "half an hour is kept, and no more than 200 nodes" do
    nodes = Array.new(300) { |id| node(id, uss: 1, pss: 1) }
    300.times { |step| @series.add(figures(*nodes), step * 15.0) }
    plain = @series.to_plain
    assert_equal [120, 4485.0], [plain[:at].size, plain[:at].last]
    assert_equal [204, 300], [plain[:lines].size, plain[:lines]["own"].last]
  end

  test "whatever a node reports, the numbers are JSON" do
    [nil, "x", [], {}, Float::INFINITY, Float::NAN, 10**400].each_with_index do |odd, step|
      @series.add(figures(node(0, rate: odd, lag: odd, done: odd)), step * 15.0)
    end
    assert_equal [nil] * 7, JSON.parse(JSON.generate(@series.to_plain)).dig("lines", "lag")
  end

  private

  def figures(*nodes) = { "nodes" => nodes }

  def node(id, uss: nil, pss: nil, **work)
    { "id" => id, "pid" => 1, "memory" => { uss:, pss: },
      "work" => { "done" => 0, **work.transform_keys(&:to_s) } }
  end
end
