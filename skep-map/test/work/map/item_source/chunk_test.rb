# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapChunkTest < Skep::TestCase
  Chunk = Skep::Work::Map.const_get(:Chunk)
  private_constant :Chunk

  def setup
    super
    @chunk = Chunk.new(40, %w[a b c d e])
  end

  test "splits after a number of items" do
    assert_equal [[40, %w[a b]], [42, %w[c d e]]], facts(@chunk.split_after(2))
    assert_equal [[40, %w[a b c d e]], [45, []]], facts(@chunk.split_after(5))
  end

  test "isolates one item, and drops empty parts" do
    assert_equal [[40, %w[a b]], [42, %w[c]], [43, %w[d e]]], facts(@chunk.isolate(42))
    assert_equal [[40, %w[a]], [41, %w[b c d e]]], facts(@chunk.isolate(40))
  end

  test "is divided into slices of a size, the last one smaller" do
    assert_equal [[40, %w[a b]], [42, %w[c d]], [44, %w[e]]], facts(@chunk.slices_of(2))
    assert_equal [[40, %w[a b c d e]]], facts(@chunk.slices_of(5))
  end

  test "finds its items by their indexes" do
    assert_equal [false, true, true, false], [39, 40, 44, 45].map { |index| @chunk.include?(index) }
    assert_equal "c", @chunk.item(42)
  end

  private

  def facts(chunks) = chunks.map { |chunk| [chunk.from, chunk.items] }
end
