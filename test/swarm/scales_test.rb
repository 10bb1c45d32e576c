# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ScalesTest < Skep::TestCase
  Patient = Struct.new(:name)
  private_constant :Patient

  def setup
    @loop = Skep::OS::Loop.new
    @looked = []
    @pause = 0.01
    @scales = Skep::Swarm::Scales.new(@loop) do |node, _now|
      @looked << node.name
      @pause
    end
    super
  end

  def teardown
    @loop.close
    super
  end

  test "looks again and again, as it was told" do
    @scales.watch(Patient.new(:one), 0.01)
    @loop.turn(5) until @looked.size == 3
    assert_equal %i[one one one], @looked
  end

  test "looks no more at what has ended" do
    watch = @scales.watch(Patient.new(:one), 0.01)
    @loop.turn(5) until @looked.size == 1
    watch.cancel
    watch.cancel
    @loop.turn(0.05) # with a timer for nobody
    @loop.turn(0.05)
    assert_equal [:one], @looked
  end

  test "makes looks that are due at nearly the same time in one turn" do
    @pause = 1000.0
    4.times { |index| @scales.watch(Patient.new(index), 10.0 + (index / 100.0)) }
    times = @scales.instance_variable_get(:@turns).keys
    assert_operator times.size, :<=, 2
  end

  test "makes a slice of many looks in a turn" do
    @pause = 1000.0
    120.times { |index| @scales.hasten(Patient.new(index)) }
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

  test "looks once at what is hastened" do
    @pause = 1000.0
    node = Patient.new(:one)
    @scales.watch(node, 0.02)
    @scales.hasten(node)
    @loop.turn(5)
    @loop.turn(0.1)
    @loop.turn(0.1)
    assert_equal [:one], @looked
  end
end
