# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MaxLifetimeTest < Skep::TestCase
  Fixed = Struct.new(:rand)
  Timer = Struct.new(:seconds, :block)
  Node = Struct.new(:watches)
  # Records the timers in place of an event loop.
  Loop = Struct.new(:timers) do
    def after(seconds, &block) = Timer.new(seconds, block).tap { |timer| timers << timer }
  end
  private_constant :Fixed, :Timer, :Node, :Loop

  def setup
    @loop = Loop.new([])
    @node = Node.new([])
    @replaced = []
    super
  end

  test "varies lifetimes by at most a tenth" do
    [0.0, 0.5, 1.0].each { |random| watch(random) }
    assert_equal [90.0, 100.0, 110.0], @loop.timers.map { |timer| timer.seconds.round(6) }
  end

  test "asks again every ten seconds for a node that can't be replaced yet" do
    watch(0.5)
    @loop.timers.last.block.call
    assert_equal [@node], @replaced
    assert_in_delta 10.0, @loop.timers.last.seconds
    @loop.timers.last.block.call
    assert_equal [@node, @node], @replaced
  end

  test "its timers are cancelled with the node's others" do
    watch(0.5)
    assert_equal @loop.timers, @node.watches
  end

  private

  def watch(random)
    Skep::Swarm::Memory::MaxLifetime.new(100.0, loop: @loop, random: Fixed.new(random)) do |node|
      @replaced << node
    end.watch(@node)
  end
end
