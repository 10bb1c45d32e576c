# frozen_string_literal: true

require "test_helper"
require "skep/fork"

class CompactionTest < Skep::TestCase
  test "compaction pays if many slots are free" do
    assert_nil needless(free: 50)
  end

  test "compaction is needless if few slots are free" do
    assert_equal "only 10% of the slots are free", needless(free: 10)
  end

  test "compaction is needless if this Ruby can't compact" do
    assert_equal "this Ruby can't compact", needless(free: 50, able: false)
  end

  test "compaction is needless if the kernel may allow too few mappings" do
    assert_match(/\A1000 heap pages may need more mappings/, needless(free: 50, mappings: 2999))
    assert_nil needless(free: 50, mappings: 3000)
  end

  private

  def needless(free:, able: true, mappings: 65_530)
    stat = { heap_free_slots: free, heap_live_slots: 100 - free, heap_allocated_pages: 1000 }
    Skep::Fork::Warmup.new.__send__(:needless_compaction, stat:, able:, mappings:)
  end
end
