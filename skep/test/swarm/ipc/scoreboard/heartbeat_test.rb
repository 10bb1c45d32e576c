# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# What a node writes and what its supervisor reads, on one page.
class HeartbeatTest < Skep::TestCase
  Swarm = Skep::Swarm
  Node = Struct.new(:page_index, :ready_at)
  private_constant :Swarm, :Node

  def setup
    super
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 2, threads: 3)
    @page = Skep::OS::SharedPage.create(layout.total)
    @scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, layout)
    @known = Node.new(1, 0.0)
    @messages = []
    @node = Swarm::Node.new(id: 0, page_index: 1, swarm: "a", mold: 0, page: @page, layout:,
                            beat_every: 1_000.0, # no second beat is sent within a test
                            report: ->(type, facts) { @messages << [type, facts] })
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  test "node.beat updates the node's own heartbeat" do
    was = own.at
    @node.beat
    assert_operator own.at, :>, was
  end

  test "omits worker threads with nothing in flight" do
    @node.thread(2).beat
    assert_equal [0], @scoreboard.of(@known).map(&:thread)
  end

  test "includes a worker thread from the moment that its item is in flight" do
    began = Skep::OS.now
    @node.thread(2).in_flight("a job")
    status = @scoreboard.of(@known).last
    assert_equal 2, status.thread
    assert_operator status.at, :>=, began
    @node.thread(2).in_flight(nil)
    assert_equal [0], @scoreboard.of(@known).map(&:thread)
  end

  test "returns the current part of each item in flight, until the next item" do
    @node.in_flight("a batch")
    assert_equal [["a batch", nil]], @scoreboard.items_in_flight(@known)
    was = own.at
    @node.current_item(0)
    assert_operator own.at, :>, was
    @node.thread(2).in_flight("b")
    @node.thread(2).current_item(2**40)
    assert_equal ["a batch at 0", "b at #{2**40}"], @scoreboard.in_flight(@known)
    @node.thread(2).in_flight("c")
    assert_equal [["a batch", 0], ["c", nil]], @scoreboard.items_in_flight(@known)
    @node.current_item(5) # this thread holds item "c", so its heartbeat gets the part
    assert_equal [["a batch", 0], ["c", 5]], @scoreboard.items_in_flight(@known)
    @node.in_flight("another")
    assert_equal [["another", nil], ["c", 5]], @scoreboard.items_in_flight(@known)
  ensure
    @node.thread(2).in_flight(nil)
  end

  test "gives C code the address of its thread's cell and the words to write" do
    skip "the fallback's page has no address" unless Skep::OS::SharedPage.native?
    [[@node, 4], [@node.thread(2), 6]].each do |node, cell|
      address, at, ill = node.__spot
      assert_equal @page.address(cell), address
      node.current_item(8)
      node.unhealthy!("tired")
      assert_equal [9, true], [@page.get(cell, at), @page.get(cell, ill).positive?]
    end
  end

  test "on a worker thread both its object and node.beat beat for that thread" do
    @node.thread(2).in_flight("a job")
    was = @scoreboard.of(@known).map(&:at)
    @node.beat
    @node.thread(2).processed(3)
    now = @scoreboard.of(@known).map(&:at)
    assert_equal was.first, now.first
    assert_operator now.last, :>, was.last
  ensure
    @node.thread(2).in_flight(nil)
  end

  test "on any other thread node.beat beats for the node" do
    @node.thread(2).in_flight("a job")
    was = @scoreboard.of(@known).map(&:at)
    Thread.new { @node.beat }.join
    now = @scoreboard.of(@known).map(&:at)
    assert_operator now.first, :>, was.first
    assert_equal was.last, now.last
  end

  test "a worker thread's object beats for it from a thread that the handler starts" do
    context = @node.thread(3).tap { |each| each.in_flight("a job") }
    was = @scoreboard.of(@known).last.at
    Thread.new { context.beat }.join
    assert_operator @scoreboard.of(@known).last.at, :>, was
  end

  test "says since when the node's own thread has something in flight" do
    assert_nil @scoreboard.in_flight_since(@known)
    @node.in_flight("a batch")
    since = @scoreboard.in_flight_since(@known)
    @node.current_item(7)
    assert_operator @scoreboard.in_flight_since(@known), :>=, since
    @node.in_flight(nil)
    assert_nil @scoreboard.in_flight_since(@known)
  end

  test "the first part of what is in flight is no progress, the next one is" do
    @node.in_flight("a batch")
    time = Skep::OS.now
    @node.current_item(7)
    refute @scoreboard.progress_since?(@known, time)
    time = Skep::OS.now
    @node.current_item(nil)
    assert @scoreboard.progress_since?(@known, time)
    time = Skep::OS.now
    @node.current_item(8)
    assert @scoreboard.progress_since?(@known, time)
  ensure
    @node.in_flight(nil)
  end

  test "in_flight(thread:) sets another thread's item, and no heartbeat is due for it" do
    @node.in_flight("for 2", thread: 2)
    assert_equal ["for 2"], @scoreboard.in_flight(@known)
    assert_equal [0], @scoreboard.of(@known).map(&:thread)
  end

  test "returns the item in flight of the given thread first" do
    [1, 3].each { |thread| Thread.new { @node.thread(thread).in_flight("job #{thread}") }.join }
    assert_equal ["job 3", "job 1"], @scoreboard.in_flight(@known, 3)
  end

  test "busy extends only the deadline of its own thread" do
    @node.thread(1).in_flight("a job")
    @node.thread(1).busy(for: 60) do
      assert_in_delta 0.0, own.busy_until
      assert_in_delta Skep::OS.now + 60, @scoreboard.of(@known).last.busy_until, 5
    end
    assert_in_delta 0.0, @scoreboard.of(@known).last.busy_until
  end

  test "the longest of nested busy declarations counts" do
    @node.busy(for: 600) do
      @node.busy(for: 60) { assert_in_delta Skep::OS.now + 600, own.busy_until, 5 }
      assert_in_delta Skep::OS.now + 600, own.busy_until, 5
    end
    assert_in_delta 0.0, own.busy_until
  end

  test "a busy declaration without a block replaces the previous one" do
    @node.busy(for: 600)
    @node.busy(for: 60)
    assert_in_delta Skep::OS.now + 60, own.busy_until, 5
    assert_nil @node.busy(for: -10_000_000_000)
    assert_in_delta 0.0, own.busy_until
  end

  test "an unhealthy node stays unhealthy until it beats; waiting isn't progress" do
    @node.unhealthy!("no database")
    since = @scoreboard.unhealthy_since(@known)
    assert_in_delta Skep::OS.now, since, 5
    @node.wait(0)
    assert_equal since, @scoreboard.unhealthy_since(@known)
    @node.beat
    assert_nil @scoreboard.unhealthy_since(@known)
  end

  test "progress of other threads doesn't make a thread healthy" do
    @node.thread(1).unhealthy!("no database")
    @node.thread(2).beat
    @node.beat
    assert @scoreboard.unhealthy_since(@known)
    @node.healthy!
    assert_nil @scoreboard.unhealthy_since(@known)
  end

  test "sends an unhealthy report at once, and limits repeated reports" do
    100.times { @node.unhealthy!("no database") }
    @node.healthy!
    @node.healthy!
    assert_equal %w[unhealthy healthy], @messages.map(&:first)
    assert_equal "no database", @messages.first.last["reason"]
  end

  private

  def own = @scoreboard.of(@known).first
end
