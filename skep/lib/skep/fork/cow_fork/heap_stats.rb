# frozen_string_literal: true

module Skep
  module Fork
    module CowFork
      # Counters of the heap, which decide what a fork needs.
      #
      #   warmed = HeapStats.now         # right after a warmup
      #   HeapStats.now.need(warmed)     # => :warmup, :collection or nil
      #
      # `live` and `young` count objects, including dead ones that aren't collected yet; `pages` are
      # heap pages. A child's collections write to pages with young objects: to their age, and to
      # the slots that they free. A minor collection right before the fork avoids most of these
      # writes and costs 3 to 30 ms for a million objects. A warmup costs ten times as much; it also
      # makes the remaining objects old and moves new memory into huge pages, which earlier children
      # then no longer share. Figures: docs/articles/memory.md.
      HeapStats = Struct.new(:live, :young, :pages, keyword_init: true)

      class HeapStats
        # The share of young objects from which on a collection pays: it cost each child of a heap
        # of a million objects 12 MB on Ruby 3.1; a fifth of it cost nothing. FEW never pay.
        YOUNG = 0.01
        FEW = 5_000

        # The growth since the last warmup from which on another pays. All warmups of a growing heap
        # then take at most three times as long as its last. On Ruby 3.1 a warmup saves a child no
        # more than a collection does, on 3.3 14 MB of 200 in a heap that grew by a third.
        GROWN = 1.5
        private_constant :YOUNG, :FEW, :GROWN

        def self.now(stat = GC.stat)
          live = stat.fetch(:heap_live_slots)
          old = stat.fetch(:old_objects) + stat.fetch(:remembered_wb_unprotected_objects)
          new(live:, young: live - old, pages: stat.fetch(:heap_allocated_pages)).freeze
        end

        def need(warmed)
          return :warmup if warmed.nil? || pages >= warmed.pages * GROWN

          :collection if young >= [live * YOUNG, FEW].max
        end
      end
    end
  end
end
