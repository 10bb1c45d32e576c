# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# What a child writes and what its supervisor reads, on one page.
class HeartbeatTest < Skep::TestCase
  Swarm = Skep::Swarm
  Node = Struct.new(:page_index, :ready_at)
  private_constant :Swarm, :Node

  def setup
    super
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 2, threads: 3)
    @page = Skep::OS::SharedPage.create(layout.total)
    @scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, layout)
    @node = Node.new(1, 0.0)
    @told = []
    @child = Swarm::Child.new(id: 0, page_index: 1, swarm: "a", mold: 0, page: @page, layout:,
                              beat_every: 1_000.0, # nothing is told twice within a test
                              report: ->(type, facts) { @told << [type, facts] })
  end

  def teardown
    @child.leave
    @page.close
    super
  end

  test "beats for the node" do
    was = own.at
    @child.beat
    assert_operator own.at, :>, was
  end

  test "says nothing of worker threads with nothing in hand" do
    @child.lane(2).beat
    assert_equal [0], @scoreboard.of(@node).map(&:thread)
  end

  test "says of a worker thread since when it has something in hand" do
    began = Skep::OS.now
    @child.lane(2).in_hand("a job")
    sign = @scoreboard.of(@node).last
    assert_equal 2, sign.thread
    assert_operator sign.at, :>=, began
    @child.lane(2).in_hand(nil)
    assert_equal [0], @scoreboard.of(@node).map(&:thread)
  end

  test "tells which part of what is in hand was given out, until it is something else" do
    @child.in_hand("a batch")
    assert_equal [["a batch", nil]], @scoreboard.held(@node)
    was = own.at
    @child.at(0)
    assert_operator own.at, :>, was
    @child.lane(2).in_hand("b")
    @child.lane(2).at(2**40)
    assert_equal ["a batch at 0", "b at #{2**40}"], @scoreboard.in_hand(@node)
    @child.lane(2).in_hand("c")
    assert_equal [["a batch", 0], ["c", nil]], @scoreboard.held(@node)
    @child.at(5) # this thread's, and so its lane's
    assert_equal [["a batch", 0], ["c", 5]], @scoreboard.held(@node)
    @child.in_hand("another")
    assert_equal [["another", nil], ["c", 5]], @scoreboard.held(@node)
  ensure
    @child.lane(2).in_hand(nil)
  end

  test "tells C which words its thread writes" do
    skip "a fallback's page is no memory" unless Skep::OS::SharedPage.native?
    [[@child, 4], [@child.lane(2), 6]].each do |child, cell|
      address, at, ill = child.__spot
      assert_equal @page.address(cell), address
      child.at(8)
      child.unhealthy!("tired")
      assert_equal [9, true], [@page.get(cell, at), @page.get(cell, ill).positive?]
    end
  end

  test "beats for its thread alone, through the lane and through the child" do
    @child.lane(2).in_hand("a job")
    was = @scoreboard.of(@node).map(&:at)
    @child.beat
    @child.lane(2).count(3)
    now = @scoreboard.of(@node).map(&:at)
    assert_equal was.first, now.first
    assert_operator now.last, :>, was.last
  ensure
    @child.lane(2).in_hand(nil)
  end

  test "beats for the node from every other thread" do
    @child.lane(2).in_hand("a job")
    was = @scoreboard.of(@node).map(&:at)
    Thread.new { @child.beat }.join
    now = @scoreboard.of(@node).map(&:at)
    assert_operator now.first, :>, was.first
    assert_equal was.last, now.last
  end

  test "beats for its lane from a thread of the handler's" do
    lane = @child.lane(3).tap { |each| each.in_hand("a job") }
    was = @scoreboard.of(@node).last.at
    Thread.new { lane.beat }.join
    assert_operator @scoreboard.of(@node).last.at, :>, was
  end

  test "lets a dispatcher name what others have in hand without a duty of its own" do
    @child.in_hand("for 2", thread: 2)
    assert_equal ["for 2"], @scoreboard.in_hand(@node)
    assert_equal [0], @scoreboard.of(@node).map(&:thread)
  end

  test "tells what the thread in question has in hand first" do
    [1, 3].each { |thread| Thread.new { @child.lane(thread).in_hand("job #{thread}") }.join }
    assert_equal ["job 3", "job 1"], @scoreboard.in_hand(@node, 3)
  end

  test "excuses its own thread alone" do
    @child.lane(1).in_hand("a job")
    @child.lane(1).busy(for: 60) do
      assert_in_delta 0.0, own.busy_until
      assert_in_delta Skep::OS.now + 60, @scoreboard.of(@node).last.busy_until, 5
    end
    assert_in_delta 0.0, @scoreboard.of(@node).last.busy_until
  end

  test "is excused as long as the longest declaration, one in the other" do
    @child.busy(for: 600) do
      @child.busy(for: 60) { assert_in_delta Skep::OS.now + 600, own.busy_until, 5 }
      assert_in_delta Skep::OS.now + 600, own.busy_until, 5
    end
    assert_in_delta 0.0, own.busy_until
  end

  test "replaces a declaration without a block by the next" do
    @child.busy(for: 600)
    @child.busy(for: 60)
    assert_in_delta Skep::OS.now + 60, own.busy_until, 5
    assert_nil @child.busy(for: -10_000_000_000)
    assert_in_delta 0.0, own.busy_until
  end

  test "is ill until it makes progress, which waiting isn't" do
    @child.unhealthy!("no database")
    since = @scoreboard.unhealthy_since(@node)
    assert_in_delta Skep::OS.now, since, 5
    @child.wait(0)
    assert_equal since, @scoreboard.unhealthy_since(@node)
    @child.beat
    assert_nil @scoreboard.unhealthy_since(@node)
  end

  test "isn't healed by another thread's progress" do
    @child.lane(1).unhealthy!("no database")
    @child.lane(2).beat
    @child.beat
    assert @scoreboard.unhealthy_since(@node)
    @child.healthy!
    assert_nil @scoreboard.unhealthy_since(@node)
  end

  test "tells of an illness at once, and then not too often" do
    100.times { @child.unhealthy!("no database") }
    @child.healthy!
    @child.healthy!
    assert_equal %w[unhealthy healthy], @told.map(&:first)
    assert_equal "no database", @told.first.last["reason"]
  end

  private

  def own = @scoreboard.of(@node).first
end
