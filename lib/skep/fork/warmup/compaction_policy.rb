# frozen_string_literal: true

module Skep
  module Fork
    class Warmup
      # Decides whether to run GC.compact, on a Ruby without Process.warmup.
      #
      #   CompactionPolicy.new.needless   # => nil, or the reason not to compact
      #
      # Compaction closes the gaps between live objects that garbage of the boot has left; a child's
      # new objects would go there and copy pages. Ruby 3.1 changes the protection of each page
      # meanwhile, and aborts if that takes more mappings than the kernel allows. Source:
      # lock_page_body in Ruby's gc.c; proc(5), max_map_count.
      class CompactionPolicy
        GAPS = 0.25            # The share of free slots from which on it pays.
        MAPPINGS = 65_530      # The kernel's default.
        MAPPINGS_A_PAGE = 3    # Two at worst, and one in reserve.
        private_constant :GAPS, :MAPPINGS, :MAPPINGS_A_PAGE

        def initialize(stat: GC.stat, able: GC.respond_to?(:compact), mappings: granted)
          @stat = stat
          @able = able
          @mappings = mappings
        end

        def needless
          return "this Ruby can't compact" unless @able
          return "only #{(gaps * 100).floor}% of the slots are free" if gaps < GAPS
          return if pages * MAPPINGS_A_PAGE <= @mappings

          "#{pages} heap pages may need more mappings than vm.max_map_count"
        end

        private

        def pages = @stat.fetch(:heap_allocated_pages)

        def gaps
          free, live = @stat.values_at(:heap_free_slots, :heap_live_slots)
          free.fdiv(free + live)
        end

        def granted
          Integer(File.read("/proc/sys/vm/max_map_count"))
        rescue SystemCallError # Not Linux, or hidden.
          MAPPINGS
        end
      end
      private_constant :CompactionPolicy
    end
  end
end
