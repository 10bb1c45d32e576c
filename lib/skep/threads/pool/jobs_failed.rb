# frozen_string_literal: true

module Skep
  module Threads
    class Pool
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
    end
  end
end
