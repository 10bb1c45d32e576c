# frozen_string_literal: true

# Errors of a pool, and the failures of its jobs.
module Skep
  module Threads
    class Pool
      # Raised by a run after close.
      class Closed < Skep::Error
        def initialize = super("the pool is closed: run before close, or make another")
      end

      # One job that raised.
      #
      #   failure.item     # => what the block was called with
      #   failure.index    # => its place in the batch, from 0
      #   failure.error    # => what the job raised
      Failure = Struct.new(:item, :index, :error, keyword_init: true)

      # Raised by Pool#run after the last job, if some jobs raised. Its cause is the first failure's
      # error.
      #
      #   rescue Skep::Threads::Pool::JobsFailed => e
      #     e.failures.each { |failure| retry_later(failure.item) if failure.error.is_a?(IOError) }
      #
      # Its message doesn't contain the items, which may hold secrets.
      class JobsFailed < Skep::Error
        attr_reader :failures # each with its item, in the items' order

        def initialize(failures:, size:)
          @failures = failures
          first = failures.first
          super("#{failures.size} of #{size} jobs failed, the first, at index #{first.index}, by " \
                "#{first.error.class}: #{first.error.message}; failures lists each")
        end
      end

      # The failure of a job whose thread was killed.
      class ThreadKilled < Skep::Error
        # Matches the SystemExit that Ruby raises in a main thread that is killed.
        module OfMain
          # Returns true for that SystemExit, as a `rescue` clause asks.
          def self.===(error)
            error.is_a?(SystemExit) && !!error.backtrace&.first&.match?(/\b(?:kill|terminate)'\z/)
          end
        end

        def initialize = super("the job's thread was killed: the job may be half done")
      end

      # Raised by a run in a child that one of its jobs forked, if the job continues in the child.
      class ForkedInJob < Skep::Error
        def initialize
          super("a job of this batch forked, and this is the child: the batch is the parent's; " \
                "end the child by exit! or exec in the job, or fork with a block")
        end
      end
    end
  end
end
