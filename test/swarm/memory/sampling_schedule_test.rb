# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SamplingScheduleTest < Skep::TestCase
  Node = Struct.new(:name)

  # Prints by how many bytes 20,000 looks make a fresh process grow.
  GROWTH = <<~RUBY
    require "skep/swarm"
    events = Skep::OS::EventLoop.new
    Skep::Swarm::Memory::SamplingSchedule.new(events) { 0.0 }.watch(Object.new, 0.0)
    bytes = [2_000, 20_000].map do |looks|
      looks.times { events.turn(5) }
      GC.start
      Skep::OS::Memory.of.uss
    end
    puts bytes[1] - bytes[0]
  RUBY
  private_constant :Node, :GROWTH

  def setup
    @loop = Skep::OS::EventLoop.new
    @looked = []
    @pause = 0.01
    @sampling_schedule = Skep::Swarm::Memory::SamplingSchedule.new(@loop) do |node, _now|
      @looked << node.name
      @pause
    end
    super
  end

  def teardown
    @loop.close
    super
  end

  test "looks again at a node at which a look has failed, and at the others meanwhile" do
    schedule = Skep::Swarm::Memory::SamplingSchedule.new(@loop) do |node, _now|
      @looked << node.name
      raise "a bug" if node.name == :bad

      0.01
    end
    [:bad, :good].each { |name| schedule.watch(Node.new(name), 0.01) }
    failed = 0
    until @looked.count(:good) == 2
      begin
        @loop.turn(5)
      rescue RuntimeError
        failed += 1
      end
    end
    assert_equal [1, "#<Skep::Swarm::Memory::SamplingSchedule nodes=2>"], [failed, schedule.inspect]
  end

  test "looks again after each pause that its block returns" do
    @sampling_schedule.watch(Node.new(:one), 0.01)
    @loop.turn(5) until @looked.size == 3
    assert_equal %i[one one one], @looked
  end

  test "doesn't grow with the number of looks" do
    skip "a turn of the fallback takes milliseconds" unless Skep::OS.native?
    grown, err, = run_program(GROWTH)

    assert_operator Integer(grown), :<, 1 << 20, err
  end

  test "doesn't look at a node whose watch is cancelled" do
    watch = @sampling_schedule.watch(Node.new(:one), 0.01)
    @loop.turn(5) until @looked.size == 1
    watch.cancel
    watch.cancel
    @loop.turn(0.05) # the timer fires, but there is no node
    @loop.turn(0.05)
    assert_equal [:one], @looked
  end

  test "once one look is due, looks at all nodes whose pause is half over" do
    @pause = 1000.0
    now = Skep::OS.now # one time for all: a delay in between would change their order
    4.times { |index| @sampling_schedule.watch(Node.new(index), 0.3 - (index / 100.0), now) }
    @sampling_schedule.watch(Node.new(:later), 1000.0, now)
    @loop.turn(5) until @looked.any?
    assert_equal [3, 2, 1, 0], @looked
    assert_match(/timers=1/, @loop.inspect)
  end

  test "doesn't look at a node in the first half of its pause" do
    @pause = 1000.0
    @sampling_schedule.watch(Node.new(:one), 1000.0)
    @loop.turn(0)
    assert_empty @looked
    @sampling_schedule.watch(Node.new(:other), 0.0)
    @loop.turn(1)
    assert_equal [:other], @looked
  end

  test "makes at most 50 looks in a turn of the loop" do
    @pause = 1000.0
    120.times { |index| @sampling_schedule.watch(Node.new(index), index / 1e6) }
    turns = 0
    while @looked.size < 120
      before = @looked.size
      @loop.turn(5)
      turns += 1
      assert_operator @looked.size - before, :<=, 50
    end
    assert_operator turns, :>=, 3
    assert_equal (0...120).to_a, @looked.sort
  end

  test "continues with the next node after a look that raises" do
    sampling_schedule = Skep::Swarm::Memory::SamplingSchedule.new(@loop) do |node, _|
      @looked << node.name and raise KeyError
    end
    2.times { |index| sampling_schedule.watch(Node.new(index), index / 100.0) }
    2.times { assert_raises(KeyError) { @loop.turn(5) until @looked.size == 2 } }
    assert_equal [0, 1], @looked
  end
end
