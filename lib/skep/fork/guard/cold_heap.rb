# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Finds a big heap that was not warmed up. Nothing breaks, but each child copies pages of it.
      class ColdHeap
        WHAT = "objects not settled"
        BIG = 64 << 20  # Bytes of heap; less is not reported.
        UNSETTLED = 0.2 # The share of young objects and free slots; a warmed-up heap has much less.
        PAGE = GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] || 65_536
        ADVICE = "a child's collections and new objects write to these pages, and copy up to " \
                 "%d MB of them: call Skep.warmup before the first fork"
        KEYS = %i[heap_allocated_pages heap_live_slots heap_free_slots old_objects].freeze
        private_constant :BIG, :UNSETTLED, :PAGE, :ADVICE, :KEYS

        def initialize(_inventory, stat: GC.stat)
          @stat = stat
        end

        def findings
          return [] unless KEYS.all? { |key| @stat.key?(key) } # Another collector than Ruby's own.
          return [] if bytes < BIG || unsettled < UNSETTLED

          [Finding.new(kind: :heap, severity: :note, advice: format(ADVICE, megabytes(unsettled)),
                       what: "a heap of #{megabytes(1)} MB that wasn't warmed up",
                       where: "#{(unsettled * 100).round}% of it young objects and gaps")]
        end

        private

        def bytes = @stat.fetch(:heap_allocated_pages) * PAGE

        def megabytes(share) = (bytes * share / 1e6).round

        # The share of slots that a child writes to: young objects, which age, and free slots.
        def unsettled
          live, free, old = @stat.values_at(:heap_live_slots, :heap_free_slots, :old_objects)
          (live + free - old).clamp(0..).fdiv(live + free)
        end
      end
      private_constant :ColdHeap
    end
  end
end
