# frozen_string_literal: true

module Skep
  module Fork
    module CowFork
      # What decides whether a fork is worth preparing for.
      #
      #   warmed = HeapStats.now         # right after a warmup
      #   HeapStats.now.need(warmed)     # => :warmup, :collection or nil
      #
      # `live` and `young` count objects, dead ones that weren't collected yet among them; `pages`
      # are the heap's. What a child's collections write to is pages of young objects: their age,
      # and the free slots that the dead leave. A minor collection right before the fork takes most
      # of that away, and costs 3 to 30 ms for a million objects. A warmup costs ten times as much,
      # makes the rest old, and moves into huge pages what has come since; what it moves is no
      # longer shared with earlier children. Figures: docs/memory.md.
      HeapStats = Struct.new(:live, :young, :pages, keyword_init: true)

      class HeapStats
        # This share of young objects is worth a collection: it cost each child of a heap of a
        # million objects 12 MB on Ruby 3.1; a fifth of it cost nothing. So few never are.
        YOUNG = 0.01
        FEW = 5_000

        # Since the last warmup. All warmups of a growing heap then take at most three times as
        # long as its last; on Ruby 3.1 they save a child nothing more than a collection does, on
        # 3.3 14 MB of 200 where the heap grew by a third.
        GROWN = 1.5
        private_constant :YOUNG, :FEW, :GROWN

        #: (?Hash[Symbol, Integer]) -> HeapStats
        def self.now(stat = GC.stat)
          live = stat.fetch(:heap_live_slots)
          old = stat.fetch(:old_objects) + stat.fetch(:remembered_wb_unprotected_objects)
          new(live:, young: live - old, pages: stat.fetch(:heap_allocated_pages)).freeze
        end

        #: (HeapStats? warmed) -> Symbol?
        def need(warmed)
          return :warmup if warmed.nil? || pages >= warmed.pages * GROWN

          :collection if young >= [live * YOUNG, FEW].max
        end
      end
    end
  end
end
