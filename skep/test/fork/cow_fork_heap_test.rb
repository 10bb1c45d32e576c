# frozen_string_literal: true

require "test_helper"
require "skep/fork"
require "skep/fork/cow_fork"
require "skep/fork/cow_fork/heap_stats"

class CowForkHeapTest < Skep::TestCase
  test "needs a warmup first" do
    assert_equal :warmup, heap(young: 0).need(nil)
  end

  test "needs another warmup once its pages have grown by half" do
    assert_nil heap(pages: 149).need(heap)
    assert_equal :warmup, heap(pages: 150).need(heap)
    assert_nil heap(pages: 50).need(heap)
  end

  test "needs a collection if 1% of the objects are young" do
    assert_nil heap(young: 9_999).need(heap)
    assert_equal :collection, heap(young: 10_000).need(heap)
  end

  test "a small heap needs a collection from 5,000 young objects on" do
    assert_nil heap(live: 20_000, young: 4_999).need(heap)
    assert_equal :collection, heap(live: 20_000, young: 5_000).need(heap)
  end

  test "counts objects as young that aren't old and can become old" do
    stat = { heap_live_slots: 1_000, old_objects: 700, remembered_wb_unprotected_objects: 100,
             heap_allocated_pages: 7 }
    assert_equal [1_000, 200, 7], Skep::Fork::CowFork::HeapStats.now(stat).to_a
    assert_operator Skep::Fork::CowFork::HeapStats.now.young, :<, Skep::Fork::CowFork::HeapStats.now.live
  end

  private

  def heap(live: 1_000_000, young: 0, pages: 100)
    Skep::Fork::CowFork::HeapStats.new(live:, young:, pages:)
  end
end
