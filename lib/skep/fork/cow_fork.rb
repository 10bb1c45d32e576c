# frozen_string_literal: true

module Skep
  module Fork
    # What precedes each fork once "skep/cow_fork" is loaded.
    #
    #   CowFork.prepare     # warms up, collects the young, or does nothing: see Heap#need
    #   CowFork.report      # of the last warmup, by whomever; nil before the first
    #
    # With "skep/reshare" loaded a warmup shares what that keeps.
    #
    # No fork is lost to it: what it raises is told on stderr. What another thread raises in the one
    # that forks (Thread#raise, Timeout) waits until it is over. In a trap handler it does the same,
    # and the program waits for it; while another thread, or the thread that the handler has
    # interrupted, is at it, and in a Ractor other than the main one, the fork goes ahead without.
    module CowFork
      # For Kernel.fork and Process.fork.
      module Singleton
        # As ever; `cow_friendly: false` or `nakayoshi: false` forks at once.
        #
        #: (?cow_friendly: bool, ?nakayoshi: bool) ?{ () -> void } -> Integer?
        def fork(cow_friendly: true, nakayoshi: true, &block)
          CowFork.prepare if cow_friendly && nakayoshi
          super(&block)
        end
      end

      # For Kernel#fork, which is private.
      module Instance
        private

        #: (?cow_friendly: bool, ?nakayoshi: bool) ?{ () -> void } -> Integer?
        def fork(cow_friendly: true, nakayoshi: true, &block)
          CowFork.prepare if cow_friendly && nakayoshi
          super(&block)
        end
      end

      # For Warmup: one that the program does by itself needn't be done again.
      module Note
        # Whoever warms up, the forks that follow know of it.
        #: () -> Warmup::Report
        def run = super.tap { |report| CowFork.note(report) }
      end

      @lock ||= Mutex.new

      class << self
        attr_reader :report #: Warmup::Report?, what the last warmup did; nil: there was none

        # Warms the heap up, lets its youngest objects grow old, or leaves it alone: what pays now.
        #: () -> void
        def prepare
          return unless Ractor.current.equal?(Ractor.main) && @lock.try_lock

          begin
            Thread.handle_interrupt(StandardError => :never) { settle(HeapStats.now.need(@warmed)) }
          ensure
            @lock.unlock
          end
        end

        # The heap is warm as it is now.
        #
        #: (Warmup::Report?) -> void
        def note(report)
          @report = report
          @warmed = HeapStats.now
        end

        private

        #: (Symbol? need) -> void
        def settle(need)
          case need
          when :warmup then Skep.warmup(reshare: OS::Memory::HeapPageSlab.installed?)
          when :collection then GC.start(full_mark: false)
          end
        rescue StandardError => error # The fork is what was asked for.
          note(@report) # A warmup that can't be isn't tried again before each fork.
          Reporter.call(error, "the warmup before a fork")
        end
      end
    end
  end
end
