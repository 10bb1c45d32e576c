# frozen_string_literal: true

# The leader epochs of what was read of a partition, to commit them with the offsets (KIP-320): a
# consumer that begins at a committed offset then notices that the log was truncated meanwhile.
#
#   epochs = LeaderEpochs.new(42, 7)   # reading begins at the committed offset 42, of epoch 7
#   epochs.read(42, 60, 7)             # a read from 42 ended at 60, after a message of epoch 7
#   epochs.at(50)                      # => 7, the epoch of the message before the offset 50
#   epochs.at(70)                      # => nil: unknown, it is committed without one
#   epochs.reset                       # librdkafka went back: what comes may be of another log
#
# Only the epoch of a read's last message is known, so that between two of one epoch all are of it.
# An epoch that is too low would look like a truncated log. One that is too high, or lower than
# one committed before (a topic made again has its epochs from 0 on), would keep librdkafka from
# committing automatically: it compares positions by epochs first, if both have one. So where an
# epoch isn't exactly known there is none.
module Skep
  module Kafka
    module Processing
      class LeaderEpochs
        # Between these two offsets, both included.
        Span = Struct.new(:epoch, :from, :to)
        private_constant :Span

        def initialize(offset = nil, epoch = nil) #: (?Integer?, ?Integer?) -> void
          @lock = Mutex.new
          @highest = epoch || 0
          @spans = offset && epoch ? [Span.new(epoch, offset, offset)] : []
        end

        #: (Integer?, Integer, Integer?) -> void
        def read(from, to, epoch)
          @lock.synchronize do
            next if epoch.nil? || epoch < @highest

            @highest = epoch
            last = @spans.last
            if last && from && last.epoch == epoch && from.between?(last.from, last.to)
              last.to = to
            else
              @spans << Span.new(epoch, to, to)
            end
          end
        end

        # Forgets what lies before the offset.
        def at(offset) #: (Integer) -> Integer?
          @lock.synchronize do
            @spans.shift while @spans.size > 1 && @spans.first.to < offset
            @spans.find { |one| offset.between?(one.from, one.to) }&.epoch
          end
        end

        def reset = @lock.synchronize { @spans.clear } #: () -> void

        def inspect
          "#<Skep::Kafka::Processing::LeaderEpochs #{@spans.map(&:to_a)}>"
        end #: () -> String
      end
    end
  end
end
