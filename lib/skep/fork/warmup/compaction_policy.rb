# frozen_string_literal: true

module Skep
  module Fork
    class Warmup
      # Judges whether GC.compact is worth its while, on a Ruby without Process.warmup.
      #
      #   CompactionPolicy.new.needless   # => nil: do it; else the reason not to, a String
      #
      # It closes the gaps that boot's garbage left between live objects, where a child's new
      # objects would each cost it a page. Ruby 3.1 protects each page by itself meanwhile; where
      # that takes more mappings than the kernel grants, Ruby aborts: then rather not. Source:
      # lock_page_body in Ruby's gc.c; proc(5), max_map_count.
      class CompactionPolicy
        GAPS = 0.25            # Of all slots, this share must be free.
        MAPPINGS = 65_530      # The kernel's own default.
        MAPPINGS_A_PAGE = 3    # Two at worst, and as much again to spare.
        private_constant :GAPS, :MAPPINGS, :MAPPINGS_A_PAGE

        #: (?stat: Hash[Symbol, Integer], ?able: bool, ?mappings: Integer) -> void
        def initialize(stat: GC.stat, able: GC.respond_to?(:compact), mappings: granted)
          @stat = stat
          @able = able
          @mappings = mappings
        end

        #: () -> String?
        def needless
          return "this Ruby can't compact" unless @able
          return "only #{(gaps * 100).floor}% of the slots are free" if gaps < GAPS
          return if pages * MAPPINGS_A_PAGE <= @mappings

          "#{pages} heap pages may need more mappings than vm.max_map_count"
        end

        private

        #: () -> Integer
        def pages = @stat.fetch(:heap_allocated_pages)

        #: () -> Float
        def gaps
          free, live = @stat.values_at(:heap_free_slots, :heap_live_slots)
          free.fdiv(free + live)
        end

        #: () -> Integer
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
