# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# With a real loop and nodes that only note what is done to them.
class InquestTest < Skep::TestCase
  Swarm = Skep::Swarm
  Config = Struct.new(:liveness_timeout, :kill_timeout, :core)
  THREADS = [{ "thread" => "main", "backtrace" => ["a.rb:1"] }].freeze
  private_constant :Swarm, :Config, :THREADS

  # What the Inquest sees of a node.
  class FakeNode
    attr_reader :slot, :pid, :seat, :watches, :complaints, :done

    def initialize
      @slot = 0
      @seat = Struct.new(:last_hang).new
      @watches = []
      @complaints = Swarm::Complaints.new
      @done = []
    end

    def channel = self
    def send(type, *) = @done << type
    def condemned? = @done.include?(:TERM)
    def condemn(reason) = @done.push(reason, :TERM)
    def kill(_reason, signal = :KILL) = @done << signal
  end

  def setup
    super
    @cells = Swarm::Cells.new(nodes: 1, threads: 2)
    @page = Skep::OS::Page.create(@cells.total)
    @loop = Skep::OS::Loop.new
    @told = []
    @node = FakeNode.new
  end

  def teardown
    @loop.close
    @page.close
    super
  end

  test "tells all in one event, then ends the node, gently first" do
    Swarm::Pulse.new(@page, @cells.of(0, thread: 2)).hold("a job")
    inquest.open(@node, :hung, sign(2))
    assert_equal ["backtraces"], @node.done
    inquest.testify(@node, THREADS)
    name, facts = @told.first
    assert_equal [:node_hung, 2, ["a job"], THREADS],
                 [name, *facts.values_at(:thread, :in_hand, :threads)]
    assert_equal ["backtraces", "hung", :TERM], @node.done
    turn_until { @node.done.include?(:KILL) }
    assert_equal ["backtraces", "hung", :TERM, :KILL], @node.done
  end

  test "doesn't wait for ever for an answer, and tells it when it comes late" do
    inquest.open(@node, :hung, sign(0))
    turn_until { @node.condemned? }
    refute @told.first.last.key?(:threads)
    inquest.testify(@node, THREADS)
    assert_equal [:node_backtraces, { threads: THREADS }], @told.last
    assert_equal THREADS, @node.seat.last_hang[:threads]
  end

  test "tells what is known of a node that ends meanwhile" do
    inquest.open(@node, :hung, sign(0))
    inquest.over(@node)
    inquest.over(@node)
    assert_equal [:node_hung], @told.map(&:first)
    refute_predicate @node, :condemned?
  end

  test "listens to nobody who wasn't asked" do
    inquest.testify(@node, THREADS)
    assert_empty @told
  end

  test "leaves a core where one is wanted, even of a stopped node" do
    inquest(core: true).open(@node, :hung, sign(0))
    inquest.testify(@node, THREADS)
    turn_until { @node.done.include?(:KILL) }
    assert_equal %i[TERM ABRT CONT KILL], @node.done.last(4)
  end

  test "tells why an unhealthy node is ended" do
    @node.complaints.add("no database", 1.0)
    inquest.open(@node, :lasting, nil)
    inquest.testify(@node, THREADS)
    name, facts = @told.first
    assert_equal [:node_unhealthy, :lasting, "no database"],
                 [name, *facts.values_at(:verdict, :reason)]
    assert_equal "unhealthy", @node.seat.last_hang[:why]
    assert_equal ["unhealthy", :TERM], @node.done.last(2)
  end

  private

  def inquest(core: false)
    tell = ->(name, _, level: nil, **facts) { @told << [name, facts] }
    @inquest ||= Swarm::Inquest.new(Config.new(0.3, 0.2, core),
                                    loop: @loop, signs: Swarm::Signs.new(@page, @cells), tell:)
  end

  def sign(thread)
    Swarm::Liveness::Sign.new(@cells.of(0, thread:), thread, Skep::OS.now - 0.3, 0.0)
  end

  def turn_until
    deadline = Skep::OS.now + 20
    until yield
      flunk "not within 20 s" if Skep::OS.now > deadline
      @loop.turn(1)
    end
  end
end
