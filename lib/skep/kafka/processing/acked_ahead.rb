# frozen_string_literal: true

# What is known of a partition's messages from the committed offset on: which are done (by
# key), and which have failed alone. The metadata of commits has it for the partition's next
# owner. The scheduler calls it under its lock, except `without_done`.
#
#   acked = AckedAhead.new(reader.epochs, metadata, origin:)  # of the commit; nil: none
#   messages = acked.without_done(messages)
#   acked.failures                       # => { 43 => a FailureCount }
#   acked.failed(item)                   # it is to be tried again
#   acked.metadata(40, order)            # to commit with the offset 40; nil: none
#   acked.label(40)                      # the same without what is done and has failed
module Skep
  module Kafka
    module Processing
      class AckedAhead
        attr_reader :failures # by offset

        def initialize(epochs, former = nil, origin: nil)
          @epochs, @former, @origin = epochs, former, origin
          @offset = former ? former.offset : 0
          @failures = former ? former.failures.dup : {}
        end

        # Returns false if the item's slice isn't one message that has failed.
        def failed(item)
          return false unless item.failed_alone?

          @failures[item.slice.first_offset] = item.failures
        end

        # The most messages to read at once, `most` or fewer. A read knows only the leader epoch of
        # its last message: it ends where `done` does, as later messages may have a higher one.
        def room(offset, most)
          left = offset && @former ? @former.left(offset) : 0
          left.positive? ? [left, most].min : most
        end

        # Returns the messages that the last owner hasn't done.
        def without_done(messages)
          former = @former or return messages
          @former = nil unless former.about?(messages.first.offset, @epochs.highest)
          @former ? messages.reject { |message| former.done?(message.offset) } : messages
        end

        # What has failed alone gets slices of its own. If reading has begun before the committed
        # offset, it is another log: its messages haven't failed.
        def isolate(slices)
          return slices if @failures.empty? || slices.empty?

          forget if slices.first.first_offset < @offset
          slices.flat_map do |slice|
            slice.isolate { |message| @failures.key?(message.offset) }
          end
        end

        # order: a KeyOrder or PartitionOrder.
        def metadata(offset, order)
          done = order.done_from(offset) or return written(offset, "", order)
          from = [order.read_to, offset].compact.max
          former = @former # which the thread that reads may drop meanwhile
          done += former.done_from(from) if former&.about?(from, @epochs.highest)
          written(offset, done, order)
        end

        def label(offset) = @origin && CommitMetadata.label(offset, @epochs.highest, @origin)

        private

        def forget
          @offset = 0
          @failures.clear
        end

        def written(offset, done, order)
          @failures.select! { |at, _| order.unfinished?(at) }
          CommitMetadata.write(offset, done:, failures: @failures, epoch: @epochs.highest,
                                       origin: @origin)
        end
      end
    end
  end
end
