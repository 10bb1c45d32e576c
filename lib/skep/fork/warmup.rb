# frozen_string_literal: true

module Skep
  module Fork
    # Makes the heap cheap to fork and to share. Run it once, when the application is loaded, before
    # the first fork.
    #
    #   report = Skep::Fork::Warmup.new(huge_pages: true).run
    #   puts report                 # what each step did, or why it was skipped
    #
    # A child shares each page until one of the two processes writes to it. So the steps make these
    # writes now: objects become old, so that minor collections don't mark them; garbage is freed
    # and live objects are compacted, so that new ones aren't allocated between them; the heap moves
    # into huge pages, so that fork copies fewer page table entries; malloc's holes are filled, so
    # that a child doesn't write to them. It takes tenths of a second to seconds. Other threads run
    # meanwhile. Report lists the steps; CompactionPolicy decides whether to compact.
    class Warmup
      STEPS = %i[ruby collect compact strings trim reshare huge_pages holes].freeze

      # Full collections until an object is old, and the most that are run: with a thread that
      # allocates meanwhile the heap never settles. Source: RVALUE_OLD_AGE in Ruby's gc.c.
      OLD_AGE = 3
      MOST = 8

      # Filled holes may take this part of all memory: 1 / HOLES.
      HOLES = 10

      # String's own method: a subclass may override it.
      ASCII_ONLY = String.instance_method(:ascii_only?)
      private_constant :STEPS, :OLD_AGE, :MOST, :HOLES, :ASCII_ONLY

      def initialize(huge_pages: true, reshare: false)
        @huge_pages = huge_pages
        @reshare = reshare
      end

      # Runs all steps.
      def run
        started = OS.now
        bytes_before = bytes
        steps = STEPS.map { |name| step(name) }.freeze
        Report.new(seconds: OS.now - started, bytes_before:, bytes_after: bytes, steps:)
      end

      private

      def step(name)
        started = OS.now
        outcome = __send__(name)
        Report::Step.new(name:, seconds: OS.now - started, **outcome)
      end

      def done(note) = { note: }

      def skip(reason) = { skipped: reason }

      # Skipped if huge pages follow: it unmaps the pages that the compaction emptied, and a heap
      # with such holes fits into few huge pages. docs/articles/memory.md has the cost.
      def ruby
        unless Process.respond_to?(:warmup)
          return skip("Ruby #{RUBY_VERSION} has no Process.warmup, 3.3 has")
        end
        return skip("Process.warmup leaves holes between huge pages") unless ready_made?

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
        return skip("Process.warmup did it") if ready_made?

        reason = CompactionPolicy.new.needless
        return skip(reason) if reason

        GC.compact
        done("GC.compact")
      end

      # Computes each string's code range, which Ruby otherwise writes to the string at first use.
      def strings
        return skip("Process.warmup did it") if ready_made?

        count = ObjectSpace.each_object(String) { |string| ASCII_ONLY.bind_call(string) }
        done("#{count} strings looked through")
      end

      def trim
        OS::Memory.open_holes # of a warmup before this one
        OS::Memory.trim ? done("malloc_trim") : skip("malloc gave nothing back")
      end

      def reshare
        return skip("not asked for") unless @reshare

        reason = OS::Memory::HeapPageSlab.share
        return skip(reason) if reason

        pages = GC.stat(:heap_allocated_pages)
        done("the records of #{OS::Memory::HeapPageSlab.records} of #{pages} heap pages")
      end

      def huge_pages
        return skip("not asked for") unless @huge_pages

        collapsed = OS::Memory::HugePages.collapse
        collapsed.skipped ? skip(collapsed.skipped) : done("#{collapsed.pages} huge pages")
      end

      # After all steps that free memory. Filled holes are wasted memory, hence the limit; further
      # holes remain for later allocations.
      def holes
        filled = OS::Memory.fill_holes(bytes.to_i / HOLES)
        filled.zero? ? skip("malloc has none that we know") : done("#{filled / 1024} KiB filled")
      end

      def ready_made?
        Process.respond_to?(:warmup) && !(@huge_pages && OS::Memory::HugePages.supported?)
      end

      def old = GC.stat(:old_objects)

      # Returns true if no more objects became old, after enough collections for the youngest.
      def settled?(counts) = counts.size > OLD_AGE && counts[-1] <= counts[-2]

      # Returns resident memory; nil if the system doesn't show it.
      def bytes = OS::Memory.of(Process.pid)&.rss
    end
  end
end
