# frozen_string_literal: true

# The leader epochs of the messages read from a partition. They are committed with the
# offsets (KIP-320), so that a consumer that begins at a committed offset notices if the log
# was truncated.
#
#   epochs = LeaderEpochs.new(42, 7)   # reading begins at the offset 42, of epoch 7
#   epochs.read(42, 60, 7)      # a read from 42 ended at 60, after a message of epoch 7
#   epochs.at(50)               # => 7, the epoch of the message before the offset 50
#   epochs.at(70)               # => nil: unknown, the offset is committed without one
#   epochs.reset                # librdkafka went back: the log may be another one
#
# Only the epoch of each read's last message is known. Messages between two with the same
# epoch have that epoch. An epoch that is too low would look like a truncated log. One that
# is too high, or lower than one committed before (the epochs of a recreated topic begin at
# 0), would keep librdkafka from committing automatically: it compares positions by their
# epochs first. So an offset whose epoch isn't exactly known has none.
module Skep
  module Kafka
    module Processing
      class LeaderEpochs
        # An epoch, and the offsets between which it is known, both included.
        Span = Struct.new(:epoch, :from, :to)
        private_constant :Span

        def initialize(offset = nil, epoch = nil)
          @lock = Mutex.new
          @highest = epoch || 0
          @spans = offset && epoch ? [Span.new(epoch, offset, offset)] : []
        end

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

        # Returns the offset's epoch, if it is known, and forgets those of lower offsets.
        def at(offset)
          @lock.synchronize do
            @spans.shift while @spans.size > 1 && @spans.first.to < offset
            @spans.find { |one| offset.between?(one.from, one.to) }&.epoch
          end
        end

        def reset = @lock.synchronize { @spans.clear }

        # Of the messages read; 0 if it is unknown.
        def highest = @lock.synchronize { @highest }

        def inspect
          "#<Skep::Kafka::Processing::LeaderEpochs #{@spans.map(&:to_a)}>"
        end
      end
    end
  end
end
