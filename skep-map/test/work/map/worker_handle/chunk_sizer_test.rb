# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapChunkSizerTest < Skep::TestCase
  ChunkSizer = Skep::Work::Map.const_get(:WorkerHandle)::ChunkSizer
  private_constant :ChunkSizer

  def setup
    super
    @sizer = ChunkSizer.new
  end

  test "begins with one item, and without prefetch" do
    assert_equal [1, false], [@sizer.size, @sizer.prefetch?]
  end

  test "doubles under 2 ms, halves over 8 ms, and keeps its size between them" do
    assert_equal 200, sized(100, seconds: 0.0015)
    assert_equal 50, sized(100, seconds: 0.009)
    assert_equal 100, sized(100, seconds: 0.005)
    assert_equal 1, sized(1, seconds: 10.0)
  end

  test "takes large steps if a chunk took far less than 2 ms" do
    assert_equal 64, sized(1, seconds: 0.00001)
    assert_equal 800, sized(100, seconds: 0.0003)
  end

  test "shrinks if the results are large, even if the chunk was quick" do
    assert_equal 50, sized(100, seconds: 0.001, bytes: 1 << 20)
    assert_equal 100, sized(100, seconds: 0.00001, bytes: 400_000)
  end

  test "prefetches only behind a short chunk" do
    sized(100, seconds: 0.007)
    assert_predicate @sizer, :prefetch?
    sized(100, seconds: 0.009)
    refute_predicate @sizer, :prefetch?
  end

  test "ignores a chunk without a finished item" do
    sized(100, seconds: 0.005)
    assert_equal 100, sized(0, seconds: 0.00001)
  end

  private

  def sized(count, seconds:, bytes: 0)
    @sizer.record(count, seconds:, bytes:)
    @sizer.size
  end
end
