# frozen_string_literal: true

module Skep
  module Fork
    # Makes the heap cheap to fork and to share. Run it once, when the application is loaded, before
    # the first fork.
    #
    #   report = Skep::Fork::Warmup.new(huge_pages: true).run
    #   puts report                 # what each step did, or why it was skipped
    #
    # A child shares each page until one of the two processes writes to it. So a warmup makes these
    # writes now. Without huge pages that is Process.warmup, which Ruby 3.3 and newer have.
    #
    # With huge pages fork copies fewer page table entries. Process.warmup unmaps the pages that its
    # compaction has emptied, and a heap with such holes fits into few huge pages. So skep has steps
    # of its own then, and on Ruby 3.1 and 3.2: objects become old, so that minor collections don't
    # mark them; garbage is freed and live objects are compacted, so that new ones aren't allocated
    # between them; malloc's holes are filled, so that a child doesn't write to them. They take
    # tenths of a second to seconds. Other threads run meanwhile. docs/articles/memory.md has the
    # figures.
    class Warmup
      # Full collections until an object is old, and the most that are run: with a thread that
      # allocates meanwhile the heap never settles. Source: RVALUE_OLD_AGE in Ruby's gc.c.
      OLD_AGE = 3
      MOST = 8

      # The share of free slots from which on compaction pays.
      GAPS = 0.25

      # Ruby 3.1 changes the protection of each heap page while it compacts, and aborts if that
      # takes more mappings than the kernel allows: two at worst, and one in reserve.
      # Source: lock_page_body in Ruby's gc.c; proc(5), max_map_count.
      MAPPINGS_A_PAGE = 3
      MAPPINGS = 65_530 # The kernel's default.

      # Filled holes may take this part of all memory: 1 / HOLES.
      HOLES = 10

      # String's own method: a subclass may override it.
      ASCII_ONLY = String.instance_method(:ascii_only?)
      private_constant :OLD_AGE, :MOST, :GAPS, :MAPPINGS_A_PAGE, :MAPPINGS, :HOLES, :ASCII_ONLY

      def initialize(huge_pages: true, reshare: false)
        @huge_pages = huge_pages
        @reshare = reshare
      end

      # Runs the steps that this Ruby and system have, in order; returns a Report.
      def run
        started = OS.now
        bytes_before = bytes
        steps = plan.map { |name| step(name) }.freeze
        Report.new(seconds: OS.now - started, bytes_before:, bytes_after: bytes, steps:)
      end

      private

      # Holes are filled last, after all steps that free memory.
      def plan
        own = !Process.respond_to?(:warmup) ||
              (@huge_pages && OS::Memory::HugePages.supported?)
        steps = own ? %i[collect compact strings trim] : [:ruby]
        steps << :reshare if @reshare
        steps << :huge_pages if @huge_pages
        steps << :holes if own
        steps
      end

      def step(name)
        started = OS.now
        outcome = __send__(name)
        Report::Step.new(name:, seconds: OS.now - started, **outcome)
      end

      def done(note) = { note: }

      def skip(reason) = { skipped: reason }

      def ruby
        Process.warmup
        done("Process.warmup")
      end

      def collect
        counts = [old]
        Kernel.loop do
          GC.start
          counts << old
          break if counts.size > MOST || settled?(counts)
        end
        done("#{counts.size - 1} full collections, #{counts.last} old objects")
      end

      def compact
        reason = needless_compaction
        return skip(reason) if reason

        GC.compact
        done("GC.compact")
      end

      # Returns the reason not to compact, or nil.
      def needless_compaction(stat: GC.stat, able: GC.respond_to?(:compact), mappings: granted)
        free, live, pages = stat.values_at(:heap_free_slots, :heap_live_slots,
                                           :heap_allocated_pages)
        gaps = free.fdiv(free + live)
        return "this Ruby can't compact" unless able
        return "only #{(gaps * 100).floor}% of the slots are free" if gaps < GAPS
        return if pages * MAPPINGS_A_PAGE <= mappings

        "#{pages} heap pages may need more mappings than vm.max_map_count"
      end

      def granted
        Integer(File.read("/proc/sys/vm/max_map_count"))
      rescue SystemCallError # Not Linux, or hidden.
        MAPPINGS
      end

      # Computes each string's code range, which Ruby otherwise writes to the string at first use.
      def strings
        count = ObjectSpace.each_object(String) { |string| ASCII_ONLY.bind_call(string) }
        done("#{count} strings looked through")
      end

      def trim
        OS::Memory.open_holes # of a warmup before this one
        OS::Memory.trim ? done("malloc_trim") : skip("malloc gave nothing back")
      end

      def reshare = ReshareHook.step

      def huge_pages
        collapsed = OS::Memory::HugePages.collapse
        collapsed.skipped ? skip(collapsed.skipped) : done("#{collapsed.pages} huge pages")
      end

      # Filled holes are wasted memory, hence the limit; further holes remain for later allocations.
      def holes
        filled = OS::Memory.fill_holes(bytes.to_i / HOLES)
        filled.zero? ? skip("malloc has none that we know") : done("#{filled / 1024} KiB filled")
      end

      def old = GC.stat(:old_objects)

      # Returns true if no more objects became old, after enough collections for the youngest.
      def settled?(counts) = counts.size > OLD_AGE && counts[-1] <= counts[-2]

      # Returns resident memory; nil if the system doesn't show it.
      def bytes = OS::Memory.of(Process.pid)&.rss
    end
  end
end
