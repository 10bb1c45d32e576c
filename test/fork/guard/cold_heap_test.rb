# frozen_string_literal: true

require "fork/support/guard_case"

class ColdHeapTest < GuardCase
  ColdHeap = Guard.const_get(:ColdHeap)
  PAGES = (100 << 20) / (GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] || 65_536)
  BIG = { heap_allocated_pages: PAGES, heap_live_slots: 800_000, heap_free_slots: 200_000,
          old_objects: 400_000 }.freeze
  private_constant :ColdHeap, :PAGES, :BIG

  test "reports a big heap of young objects and free slots, and its cost" do
    finding = notes.first
    assert_equal [:heap, :note], finding.to_h.values_at(:kind, :severity)
    assert_match(/a heap of 105 MB/, finding.what)
    assert_match(/60%/, finding.where)
    assert_match(/up to 63 MB.*Skep\.warmup/, finding.advice)
  end

  test "ignores a heap that was warmed up, and a small one" do
    assert_empty notes(heap_free_slots: 10_000, old_objects: 790_000)
    assert_empty notes(heap_allocated_pages: 100)
  end

  private

  def notes(**stat) = ColdHeap.new(nil, stat: { **BIG, **stat }).findings
end
