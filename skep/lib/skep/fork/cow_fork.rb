# frozen_string_literal: true

module Skep
  module Fork
    # Prepares the heap before each fork, once "skep/cow_fork" is loaded.
    #
    #   CowFork.prepare     # warms up, runs a minor collection, or does nothing: HeapStats#need
    #   CowFork.report      # of the last warmup; nil before the first
    #
    # HeapStats decides what is worth doing. If heaps can be reshared here (ReshareHook),
    # a warmup does that, too.
    #
    # Errors are reported on stderr and never prevent the fork. Exceptions from other threads
    # (Thread#raise, Timeout) are deferred until it is done. The fork proceeds unprepared while
    # another thread prepares one, in a trap handler that interrupts a preparation, and in a Ractor
    # other than the main one.
    module CowFork
      # For Kernel.fork and Process.fork.
      module Singleton
        # Prepares the heap, then forks; `cow_friendly: false` or `nakayoshi: false` forks at once.
        def fork(cow_friendly: true, nakayoshi: true, &block)
          CowFork.prepare if cow_friendly && nakayoshi
          super(&block)
        end
      end

      # For Kernel#fork, which is private.
      module Instance
        private

        def fork(cow_friendly: true, nakayoshi: true, &block)
          CowFork.prepare if cow_friendly && nakayoshi
          super(&block)
        end
      end

      # For Warmup: records a warmup that the program runs itself, so that it isn't repeated.
      module Note
        # Runs the warmup, and records its report.
        def run = super.tap { |report| CowFork.note(report) }
      end

      @lock ||= Mutex.new

      class << self
        attr_reader :report # of the last warmup

        # Runs a warmup, a minor collection or nothing, as the heap needs it.
        def prepare
          return unless Ractor.current.equal?(Ractor.main) && @lock.try_lock

          begin
            Thread.handle_interrupt(StandardError => :never) { settle(HeapStats.now.need(@warmed)) }
          ensure
            @lock.unlock
          end
        end

        # Records that the heap is warm now.
        def note(report)
          @report = report
          @warmed = HeapStats.now
        end

        private

        def settle(need)
          case need
          when :warmup then Skep.warmup(reshare: ReshareHook.installed?)
          when :collection then GC.start(full_mark: false)
          end
        rescue StandardError => error # The fork must proceed.
          note(@report) # A warmup that fails isn't repeated before each fork.
          Reporter.call(error, "the warmup before a fork")
        end
      end
    end
  end
end
