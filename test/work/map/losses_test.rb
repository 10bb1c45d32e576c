# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapLossesTest < Skep::TestCase
  Chunk = Skep::Work::Map.const_get(:Chunk)
  Losses = Skep::Work::Map.const_get(:Losses)
  FakeNode = Struct.new(:chunks, :begun, :last_words, :pid)
  KILLED = Skep::Swarm::IPC::ExitStatus.new(nil, "KILL")
  private_constant :Chunk, :Losses, :FakeNode, :KILLED

  def setup
    super
    @losses = Losses.new
  end

  test "hands out again what was in hand, the item that it was at alone" do
    again = @losses.count(node(chunk(0, 5), chunk(5, 2), begun: [3]), KILLED)
    assert_equal [[0, 3], [3, 1], [4, 1], [5, 2]], places(again)
  end

  test "has nothing to hand out for a node that had nothing" do
    assert_empty @losses.count(node, KILLED)
    assert_empty @losses.count(node(chunk(4, 0)), KILLED)
  end

  test "blames the item that ended two nodes, and no other" do
    @losses.count(node(chunk(0, 5), begun: [3]), KILLED)
    @losses.count(node(chunk(0, 3), begun: [2]), KILLED)
    error = assert_raises(Skep::NodeDied) { @losses.count(node(chunk(3, 1), begun: [3]), KILLED) }
    assert_equal [3, "item 3", "KILL"], [error.index, error.item, error.signal]
  end

  test "blames on the first item what ends nodes before they begin" do
    assert_equal [[7, 1], [8, 1]], places(@losses.count(node(chunk(7, 2)), KILLED))
    assert_raises(Skep::NodeDied) { @losses.count(node(chunk(7, 1)), KILLED) }
  end

  test "tries nothing again that left on purpose" do
    died = node(chunk(0, 1), begun: [0], words: "left by exit, called at app.rb:1")
    error = assert_raises(Skep::NodeDied) { @losses.count(died, Skep::Swarm::IPC::ExitStatus.new(3, nil)) }
    assert_equal 3, error.status
    assert_match(/ended its node \(pid 42\) with exit status 3, left by exit/, error.message)
  end

  private

  def chunk(from, size) = Chunk.new(from, Array.new(size) { |n| "item #{from + n}" })
  def node(*chunks, begun: [], words: nil) = FakeNode.new(chunks, begun, words, 42)
  def places(chunks) = chunks.map { |chunk| [chunk.from, chunk.size] }
end
