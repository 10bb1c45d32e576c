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
      private_constant :PLACES, :LEVELS

      attr_reader :topic # the topic's name
      attr_reader :partition # the partition's number

      def initialize(topic, partition, messages)
        @topic = topic
        @partition = partition
        @message_set = Librdkafka::MessageSet.of(messages)
        @loops = 0
      end

      # Yields the messages in order. Each one counts as progress of the node: a batch may take
      # longer than `timeout:`, a message may not. (A handler that uses `messages` or `payloads`
      # calls node.beat itself.) If the node crashes, the supervisor knows which message was
      # yielded last. Of nested loops only the outermost one is reported that way.
      #
      # Once the partition is revoked, the loop ends after the current message. Return from the
      # handler as usual then: the messages yielded are done, and the partition's next owner
      # processes the rest. If the whole batch is marked as done, the loop yields all of it, because
      # no other node processes it.
      def each(&)
        return enum_for(:each) { size } unless block_given?
        return (@message_set.each(&) && self) unless @node

        yield_tracked(&)
      end

      # Returns true once the partition is revoked. A handler that doesn't use `each` should return
      # soon then: the rebalance waits for it.
      def revoked? = @ownership ? @ownership.revoked? : false

      # A Hash of your own for this partition, from its assignment to its revocation: what
      # `on_assigned` and `on_revoked` get, too. Threads that work by key share it.
      def state = @ownership ? @ownership.state : (@state ||= {})

      # Marks the message, or the one of that offset, and all before it in the batch as done. They
      # aren't delivered again if the handler raises later, nor after a crash once their offset is
      # committed. Returns false if the partition's next owner processes the message: the partition
      # is lost, or `each` has ended before the message.
      def mark(message)
        offset = message.is_a?(Integer) ? message : message.offset
        unless offset.between?(first_offset, last_offset)
          raise ArgumentError, "mark needs a message of #{label} (got offset #{offset})"
        end

        return @node.nil? unless @marker

        yielded = @ended_at ? [offset, @ended_at].min : offset
        yielded >= first_offset && store_mark(yielded) && yielded == offset
      end

      # Retries the unmarked messages after so many seconds. Until then the partition is paused; if
      # it is ordered by key, the batch's keys are. It doesn't count as a failure. It takes effect
      # when the handler returns. level: of the log line, :debug for a pause that is routine.
      def pause(seconds, level: :info)
        unless LEVELS.include?(level)
          raise ArgumentError, "pause needs a level of #{LEVELS.join(", ")} (got #{level.inspect})"
        end
        return @requested = [:pause, seconds, level] if seconds.is_a?(Numeric) && seconds >= 0

        raise ArgumentError, "pause needs seconds from 0 (got #{seconds.inspect})"
      end

      # The partition continues at that offset, at :beginning, at :end, or at the first message with
      # that Time or a later one. Unmarked messages are neither done nor retried. It takes effect
      # when the handler returns.
      def seek(place)
        known = place.is_a?(Integer) ? !place.negative? : PLACES.include?(place)
        return @requested = [:seek, place] if known || place.is_a?(Time)

        raise ArgumentError, "seek needs an offset, :beginning, :end or a Time " \
                             "(got #{place.inspect})"
      end

      # A try begins: `each` reports its progress to that node, `mark` calls marker.mark(offset).
      def __attach(node, marker = nil)
        @node = node
        @marker = marker
        @messages = @requested = @left_by = @ended_at = @ownership = @marked = nil
        @message_set.tracked = nil
        @home = Fiber.current
      end

      # `each` calls tracing.message(message) { … } around each message.
      def __traced_by(tracing) = @tracing = tracing

      # The first messages, so many at most. The handler hasn't used them.
      def __first(count) = @message_set.first(count)

      # The handler is about to be called. Returns false if the partition isn't this node's any
      # more.
      def __owned(ownership)
        @ownership = ownership
        @whole = false
        @looped = @loops
        ownership.confirmed?.tap { |ours| @ended_at = first_offset - 1 unless ours }
      end

      # `each` ends after the current message; if it hasn't begun, after its first one, or with
      # at_once before that.
      def __end_early(at_once: false) = @message_set.end_early(at_once)

      # The offset of the last message yielded, if `each` has ended early.
      def __ended_at = @ended_at

      # Returns true if the handler may have processed later messages: it used `messages` or
      # `payloads`, or had another loop before the one that ended early.
      def __seen_beyond_end? = @whole || @loops - @looped > 1

      # The handler has returned: a handler that keeps the batch can't mark anything any more.
      def __detach = @marker = nil

      # The handler wasn't called: the partition continues at that place.
      def __request_seek(place) = @requested = [:seek, place]

      # What the handler asked for: [:pause, seconds, level] or [:seek, place].
      def __requested = @requested

      # The offset of the message that `each` had yielded when this error, or a cause of it, left
      # the loop; nil if it came from elsewhere.
      def __failed_at(error)
        error = error.cause until error.nil? || error.equal?(@left_by)
        @at if error
      end

      # A batch of the messages after that offset; nil if there are none.
      def __after(offset) = __part { |message| message.offset > offset }

      # A batch of the messages for which the block is true; nil if there are none.
      def __part(&)
        some = messages.select(&)
        __of(some) if some.any?
      end

      # For another try: undoes changes that a handler has made to the messages' strings.
      def __reset_strings = messages.each(&:__reset_strings)

      # A batch of these messages of it.
      def __of(some) = Batch.new(topic, partition, some)

      def messages # in their order
        @whole = true
        @messages ||= @message_set.to_a.freeze
      end

      def size = @message_set.size # how many
      def first_offset = @message_set.first_offset # of its first message
      def last_offset = @message_set.last_offset # of its last message

      # The messages' payloads; quicker than a loop over messages.
      def payloads
        @whole = true
        @message_set.payloads
      end

      # "topic/partition/first-last", as the status page and the log show it.
      def label = "#{topic}/#{partition}/#{first_offset}-#{last_offset}"

      # The same for events.
      def place = { topic:, partition:, offset: first_offset, last_offset: }

      # About how much memory it holds.
      def __bytes = @message_set.bytes

      # The same messages in batches of one.
      def split = messages.map { |message| __of([message]) }

      # The same messages in batches: messages for which the block is true have one each.
      def isolate
        pieces = messages.chunk { |message| yield(message) ? :_alone : :together }
        pieces.map { |_, some| __of(some) }
      end

      def inspect = "#<Skep::Kafka::Batch #{label} size=#{size}>"

      private

      def store_mark(offset)
        return false if @marker.mark(offset) == false

        @marked = [@marked, offset].compact.max
        true
      end

      def yield_tracked(&block)
        return repeat(&block) if @ended_at

        block = traced(block) if @tracing
        number = begin_loop
        ownership = @ownership if ends_early?(number)
        ended = @message_set.each_tracked(@node, number, ownership, &block)
        @ended_at = [ended, first_offset - 1].max if ended
        self
      rescue Exception => e # even one that ends the node: the message remains on the status page
        raise
      ensure
        end_loop(e) if @message_set.tracked == number
      end

      def traced(block)
        tracing = @tracing
        proc { |message| tracing.message(message) { block.call(message) } }
      end

      # A loop after one that has ended early yields the same messages.
      def repeat
        @message_set.each do |message|
          break if message.offset > @ended_at

          @node.current_item(message.offset)
          yield message
        end
        self
      end

      # Returns true if this loop may end before the last message.
      def ends_early?(number) = @message_set.tracked == number && @marked != last_offset

      def begin_loop
        track = track?
        number = @loops += 1
        return number unless track

        @tracker = Fiber.current
        @message_set.tracked = number
      end

      # Returns false within another loop, which may run in this fiber or in another. Another fiber
      # waits for this one, or it is an enumerator's (Enumerator#next) and may never be resumed: a
      # loop of the fiber that called the handler isn't within a loop of another fiber.
      def track?
        return true if @message_set.tracked.nil? || !@tracker.alive?

        Fiber.current.equal?(@home) && !@tracker.equal?(@home)
      end

      def end_loop(error)
        @message_set.tracked = nil
        @at = @message_set.last_yielded_offset if error
        @left_by = error
        @node.current_item(nil) unless error
      end
    end
  end
end
