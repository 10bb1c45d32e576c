# frozen_string_literal: true

# Messages of one partition, in order: the argument of a handler.
#
#   swarm.work(source) do |batch, node|
#     batch.each do |message|
#       store(message.key, message.payload)
#       batch.mark(message)                  # it and all before it are done, whatever follows
#     end
#     batch.topic; batch.partition; batch.first_offset; batch.last_offset; batch.size
#   end
#
# When the handler returns, the whole batch is done. When it raises, the batch is retried, without
# the marked messages. A handler can also ask for a pause of its partition, `batch.pause(30)`, or
# for another place to read from, `batch.seek(:beginning)`.
module Skep
  module Kafka
    class Batch
      include Enumerable

      PLACES = %i[beginning end].freeze
      LEVELS = %i[debug info warn error].freeze # of an event
      LAST_OFFSET = (2**63) - 1 # which brokers know; the milliseconds of a Time, too
      PAUSES = (0..(10**9)) # seconds
      private_constant :PLACES, :LEVELS, :LAST_OFFSET, :PAUSES

      # slice: a Processing::Slice. attempt: the Processing::Attempt that the handler makes; nil
      # outside of a node.
      def initialize(slice, attempt = nil)
        @slice, @attempt = slice, attempt
      end

      def topic = @slice.topic # the topic's name
      def partition = @slice.partition # the partition's number

      # Yields the messages in order. Each one counts as progress of the node: a batch may take
      # longer than `liveness_timeout`, a message may not. (A handler that uses `messages` or
      # `payloads` calls node.beat itself.) If the node crashes, the supervisor knows which message
      # was yielded last. Of nested loops only the outermost one is reported that way.
      #
      # Once the partition is revoked, the loop ends after the current message. Return from the
      # handler as usual then: the messages yielded are done, and the partition's next owner
      # processes the rest. If the whole batch is marked as done, the loop yields all of it, because
      # no other node processes it.
      def each(&)
        return enum_for(:each) { size } unless block_given?

        (@attempt || @slice.message_set).each(&)
        self
      end

      # Returns true once the partition is revoked. A handler that doesn't use `each` should return
      # soon then: the rebalance waits for it.
      def revoked? = @attempt ? @attempt.revoked? : false

      # A Hash of your own for this partition, from its assignment to its revocation: what
      # `on_assigned` and `on_revoked` get, too. Threads that work by key share it.
      def state = @attempt ? @attempt.state : (@state ||= {})

      # Marks the message, or the one of that offset, and all before it in the batch as done. They
      # aren't delivered again if the handler raises later. After a crash they aren't if their
      # offset was committed, or if the node's successor continues where the node was: as a static
      # member in the same generation of its group. Returns false if the partition's next owner
      # processes the message: the partition is lost, or `each` has ended before the message.
      def mark(message)
        offset = message.is_a?(Integer) ? message : message.offset
        unless offset.between?(first_offset, last_offset)
          raise ArgumentError, "mark needs a message of #{@slice.label} (got offset #{offset})"
        end

        @attempt ? @attempt.mark(offset) : true
      end

      # Retries the unmarked messages after so many seconds. Until then the partition is paused; if
      # it is ordered by key, the batch's keys are. It doesn't count as a failure. It takes effect
      # when the handler returns. level: of the log line, :debug for a pause that is routine.
      def pause(seconds, level: :info)
        unless LEVELS.include?(level)
          raise ArgumentError, "pause needs a level of #{LEVELS.join(", ")} (got #{level.inspect})"
        end

        valid = seconds.is_a?(Numeric) && seconds.real? && PAUSES.cover?(seconds)
        return @attempt&.request(:pause, seconds, level) if valid

        raise ArgumentError, "pause needs seconds from 0 to #{PAUSES.last} (got #{seconds.inspect})"
      end

      # The partition continues at that offset, at :beginning, at :end, or at the first message with
      # that Time or a later one. Unmarked messages are neither done nor retried. It takes effect
      # when the handler returns.
      def seek(place)
        return @attempt&.request(:seek, place) if place?(place)

        raise ArgumentError, "seek needs an offset, :beginning, :end or a Time " \
                             "(got #{place.inspect})"
      end

      def messages # in their order
        @attempt&.see_all
        @slice.messages
      end

      def size = @slice.size # how many
      def first_offset = @slice.first_offset # of its first message
      def last_offset = @slice.last_offset # of its last message

      # The messages' payloads; quicker than a loop over messages.
      def payloads
        @attempt&.see_all
        @slice.message_set.payloads
      end

      # What the handler has done, for skep; nil outside of a node.
      def __attempt = @attempt

      def inspect = "#<Skep::Kafka::Batch #{@slice.label} size=#{size}>"

      private

      def place?(place)
        case place
        when Integer then place.between?(0, LAST_OFFSET)
        when Time then place.to_r * 1000 <= LAST_OFFSET
        else PLACES.include?(place)
        end
      end
    end
  end
end
