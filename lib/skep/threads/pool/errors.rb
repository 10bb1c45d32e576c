# frozen_string_literal: true

# What a pool raises, and the failures of its jobs.
module Skep
  module Threads
    class Pool
      # Raised by a run after close.
      class Closed < Skep::Error
        #: () -> void
        def initialize = super("the pool is closed: run before close, or make another")
      end

      # One job that raised.
      #
      #   failure.item     # => what the block was called with
      #   failure.index    # => its place in the batch, from 0
      #   failure.error    # => what the job raised
      Failure = Struct.new(:item, :index, :error, keyword_init: true)

      # Raised by Pool#run after the batch, when some of its jobs raised. Its cause is the first
      # failure's error.
      #
      #   rescue Skep::Threads::Pool::JobsFailed => e
      #     e.failures.each { |failure| retry_later(failure.item) if failure.error.is_a?(IOError) }
      #
      # Its sentence leaves the items out, which may hold what no log should.
      class JobsFailed < Skep::Error
        attr_reader :failures #: Array[Failure], each with its item, in the items' order

        #: (failures: Array[Failure], size: Integer) -> void
        def initialize(failures:, size:)
          @failures = failures
          first = failures.first
          super("#{failures.size} of #{size} jobs failed, the first, at index #{first.index}, by " \
                "#{first.error.class}: #{first.error.message}; failures tells of each")
        end
      end

      # The failure of a job whose thread was killed in its middle.
      class ThreadKilled < Skep::Error
        # What Ruby makes of a kill of the main thread: its SystemExit, but not any other.
        module OfMain
          # Is that the end of the main thread's own?
          #: (Exception) -> bool
          def self.===(error)
            error.is_a?(SystemExit) && !!error.backtrace&.first&.match?(/\b(?:kill|terminate)'\z/)
          end
        end

        #: () -> void
        def initialize = super("the job's thread was killed: the job may be half done")
      end

      # Raised by a run in the child of a process in which one of its jobs forked, and went on in
      # the child instead of ending it.
      class ForkedInJob < Skep::Error
        #: () -> void
        def initialize
          super("a job of this batch forked, and this is the child: the batch is the parent's; " \
                "end the child by exit! or exec in the job, or fork with a block")
        end
      end
    end
  end
end
