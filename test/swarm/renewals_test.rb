# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RenewalsTest < Skep::TestCase
  Seat = Struct.new(:id, :node, :successor)
  Node = Struct.new(:seat, :state, :watches) do
    def id = seat.id
    def ready? = state == :ready
    def live? = state != :dead
    def retired? = state == :stopping
  end
  Retired = Struct.new(:all) do
    def retire(node, reason) = all << [node.id, reason]
    def of(_seat) = nil
  end
  # What replacements there are; a test ends them.
  Manager = Struct.new(:seats, :begun, :replacements) do
    def replace(seat, reason, &done) = begun << [seat.id, reason, done]
    def stopping? = false
    def registrar = self
  end
  private_constant :Seat, :Node, :Retired, :Manager

  def setup
    @loop = Skep::OS::Loop.new
    super
  end

  def teardown
    @loop.close
    super
  end

  test "renews one after the other" do
    nodes = swarm(3)
    assert_equal([true] * 3, nodes.map { |node| @renewals.ask(node, "max_lifetime") })
    assert_equal [[0, "max_lifetime"]], begun
    @manager.begun.last.last.call(true)
    @manager.begun.last.last.call(false)
    assert_equal [0, 1, 2], begun.map(&:first)
  end

  test "renews several at a time where there are many" do
    swarm(60).each { |node| @renewals.ask(node, "max_lifetime") }
    assert_equal [0, 1, 2], begun.map(&:first)
  end

  test "doesn't ask twice" do
    nodes = swarm(2)
    nodes.each { |node| @renewals.ask(node, "max_lifetime", patient: false) }
    refute @renewals.ask(nodes[1], "memory_limit", patient: false)
  end

  test "leaves alone who is being replaced, has ended, or doesn't hold its seat" do
    node, other, third = swarm(3)
    node.seat.successor = other
    other.state = :stopping
    third.seat.node = nil
    assert_equal([false] * 3, [node, other, third].map { |one| @renewals.ask(one, "x") })
    assert_empty begun
  end

  test "lets a seat wait that was renewed too often of late" do
    node = swarm(1, restarts: 2).first
    answers = Array.new(4) do
      asked = @renewals.ask(node, "memory_limit")
      asked.tap { @manager.begun.last.last.call(true) if asked }
    end
    assert_equal [true, true, true, false], answers
    assert @renewals.ask(node, "max_lifetime", patient: false)
  end

  test "knows who is to go" do
    nodes = swarm(2)
    nodes.each { |node| @renewals.ask(node, "max_lifetime") }
    refute @renewals.under_way?(nodes[0]), "its replacement is the manager's, which has none here"
    assert @renewals.under_way?(nodes[1])
    nodes[0].state = :stopping
    assert @renewals.under_way?(nodes[0])
    nodes[0].state = :dead
    refute @renewals.under_way?(nodes[0])
  end

  test "stops at once, whoever follows" do
    node = swarm(1).first
    @renewals.at_once(node, "memory_limit")
    assert_equal [[0, "memory_limit"]], begun
    assert_equal [[0, "memory_limit"]], @manager.replacements.all
    assert_equal 1, node.watches.size
  end

  private

  def swarm(size, **options)
    config = Skep::Swarm::Config.new("a", options)
    seats = Array.new(size) { |id| Seat.new(id) }
    @manager = Manager.new(seats, [], Retired.new([]))
    @renewals = Skep::Swarm::Renewals.new(@manager, config, loop: @loop)
    seats.map { |seat| seat.node = Node.new(seat, :ready, []) }
  end

  def begun = @manager.begun.map { |seat, reason, _| [seat, reason] }
end
