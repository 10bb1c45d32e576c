# frozen_string_literal: true

# Messages of one partition, in order: what a handler is given.
#
#   swarm.work(source) do |batch, child|
#     batch.each do |message|
#       store(message.key, message.payload)
#       batch.mark(message)                  # done, with all before it, whatever comes later
#     end
#     batch.topic; batch.partition; batch.first_offset; batch.last_offset; batch.size
#   end
#
# A handler that returns has done the whole batch; one that raises gets the whole batch again, or
# what comes after the mark. Instead of either it may say "not now": `batch.pause(30)`, or "from
# there": `batch.seek(:beginning)`.
module Skep
  module Kafka
    class Batch
      include Enumerable

      PLACES = %i[beginning end].freeze
      LEVELS = %i[debug info warn error].freeze # of an event
      private_constant :PLACES, :LEVELS

      attr_reader :topic #: String, all of them are from it
      attr_reader :partition #: Integer, and from that one

      def initialize(topic, partition, messages) #: (String, Integer, Enumerable[Message]) -> void
        @topic = topic
        @partition = partition
        @message_set = Librdkafka::MessageSet.of(messages)
        @loops = 0
      end

      # Gives out the messages one by one, each a beat of the node's: a batch may take as long
      # as it likes, so long as its messages don't. (A handler that takes them all at once beats for
      # itself.) Which one was given out last is known even if the node dies of it; after the last
      # one all are at work. Of loops within one another the outermost counts.
      #
      # Once the partition is revoked it ends after the current message. The handler then returns as
      # ever: the messages given out are done, and the rest is left to the partition's next owner.
      # A batch that is marked as a whole is given out as a whole: no other node has it again.
      #: () { (Message) -> void } -> untyped
      def each(&)
        return enum_for(:each) { size } unless block_given?
        return (@message_set.each(&) && self) unless @child

        give_out(&)
      end

      # True once the group wants the partition back, or has taken it. A handler that doesn't use
      # `each` should finish soon then: the rebalance waits for it.
      def revoked? = @ownership ? @ownership.revoked? : false #: () -> bool

      # This message, or the one of that offset, and all before it in the batch are done. They
      # don't come again when the handler raises later, nor once that is committed. After the
      # handler's end there is nothing more to mark: it is done, or comes again. Returns false if
      # the mark can't be stored, since the partition is lost, or since `each` has ended before that
      # message: the partition's next owner processes it.
      def mark(message) #: (Message | Integer) -> bool
        offset = message.is_a?(Integer) ? message : message.offset
        unless offset.between?(first_offset, last_offset)
          raise ArgumentError, "no message of #{label} has the offset #{offset}"
        end

        return @child.nil? unless @marking

        given_out = @cut ? [offset, @cut].min : offset
        given_out >= first_offset && store_mark(given_out) && given_out == offset
      end

      # Not now: what isn't marked comes again after so many seconds, and until then nothing else of
      # this partition (of these keys, where it is ordered by key). Counts as no failure. It takes
      # effect when the handler returns. level: of its log line, :debug for what is quite usual.
      def pause(seconds, level: :info) #: (Numeric, ?level: Symbol) -> void
        unless LEVELS.include?(level)
          raise ArgumentError, "pause takes a level of #{LEVELS.join(", ")}, not #{level.inspect}"
        end
        return @wish = [:pause, seconds, level] if seconds.is_a?(Numeric) && !seconds.negative?

        raise ArgumentError, "pause takes seconds, 0 or more, not #{seconds.inspect}"
      end

      # The partition goes on at that offset, at :beginning, at :end, or at the first message of
      # that Time or later; what isn't marked is left as it is. It takes effect when the handler
      # returns.
      def seek(place) #: (Integer | Symbol | Time) -> void
        known = place.is_a?(Integer) ? !place.negative? : PLACES.include?(place)
        return @wish = [:seek, place] if known || place.is_a?(Time)

        raise ArgumentError, "seek takes an offset, :beginning, :end or a Time, " \
                             "not #{place.inspect}"
      end

      # Whose beats these are, from the first message on, and who is told of marks: each try begins
      # anew.
      def __given_to(child, &marking) #: (Child) ?{ (Integer) -> void } -> void
        @child = child
        @marking = marking
        @messages = @wish = @left_by = @message_set.tracked = @cut = @ownership = @marked = nil
        @home = Fiber.current
      end

      # Whose it is. Returns false if that isn't this node any more: it isn't to be processed.
      def __owned(ownership) #: (Processing::PartitionOwnership) -> bool
        @ownership = ownership
        @whole = false
        @looped = @loops
        ownership.confirmed?.tap { |ours| @cut = first_offset - 1 unless ours }
      end

      # `each` ends after the current message, or after its first. at_once: it gives out no more.
      def __end_early(at_once: false) = @message_set.end_early(at_once) #: (?at_once: bool) -> void

      # The offset of the last message given out, where `each` has ended early.
      def __cut = @cut #: () -> Integer?

      # Returns true if the handler may have processed messages behind that one: it took them as a
      # whole, or had another loop before the one that ended early.
      def __seen_beyond_cut? = @whole || @loops - @looped > 1 #: () -> bool

      # The handler is through with it: who keeps it marks nothing of another's any more.
      def __over = @marking = nil #: () -> void

      # What the handler asked for: [:pause, seconds, level] or [:seek, place].
      def __wish = @wish #: () -> [Symbol, *untyped]?

      # The offset of the message that `each` had given out when this error, or a cause of it, left
      # the loop; nil if it came from elsewhere.
      def __at(error) #: (Exception) -> Integer?
        error = error.cause until error.nil? || error.equal?(@left_by)
        @at if error
      end

      # What comes after that offset; nil if nothing does.
      #: (Integer) -> Batch?
      def __after(offset) = __part { |message| message.offset > offset }

      # Those of which the block is true; nil if there are none.
      def __part(&) #: () { (Message) -> bool } -> Batch?
        some = messages.select(&)
        __of(some) if some.any?
      end

      # For another try: what a handler has made of its messages' strings is forgotten.
      def __reset_strings = messages.each(&:__reset_strings) #: () -> void

      # Some of its messages, as a batch.
      def __of(some) = Batch.new(topic, partition, some) #: (Array[Message]) -> Batch

      def messages #: () -> Array[Message], in their order
        @whole = true
        @messages ||= @message_set.to_a.freeze
      end

      def size = @message_set.size #: () -> Integer, how many
      def first_offset = @message_set.first_offset #: () -> Integer, of its first message
      def last_offset = @message_set.last_offset #: () -> Integer, of its last message

      # What they say, at less than the price of Messages.
      def payloads #: () -> Array[String?]
        @whole = true
        @message_set.payloads
      end

      # "topic/partition/first-last": how it is named on the page and in the log.
      def label = "#{topic}/#{partition}/#{first_offset}-#{last_offset}" #: () -> String

      # The same for events.
      def place = { topic:, partition:, offset: first_offset, last_offset: } #: () -> Hash

      # What it holds in memory, nearly.
      def __bytes = @message_set.bytes #: () -> Integer

      # The same messages as batches of one, for finding the one that can't be done.
      #: () -> Array[Batch]
      def split = messages.map { |message| __of([message]) }

      # The same messages in batches in which those of which the block is true are alone.
      #: () { (Message) -> bool } -> Array[Batch]
      def isolate
        pieces = messages.chunk { |message| yield(message) ? :_alone : :together }
        pieces.map { |_, some| __of(some) }
      end

      def inspect = "#<Skep::Kafka::Batch #{label} size=#{size}>" #: () -> String

      private

      def store_mark(offset)
        return false if @marking.call(offset) == false

        @marked = [@marked, offset].compact.max
        true
      end

      def give_out(&)
        return give_out_again(&) if @cut

        number = begin_loop
        ended = @message_set.each_tracked(@child, number, (@ownership if ends_early?(number)), &)
        @cut = [ended, first_offset - 1].max if ended
        self
      rescue Exception => e # what ends the node with it, even: which message it was stays reported
        raise
      ensure
        end_loop(e) if @message_set.tracked == number
      end

      # A loop after one that has ended early has the same messages.
      def give_out_again
        @message_set.each do |message|
          break if message.offset > @cut

          @child.at(message.offset)
          yield message
        end
        self
      end

      # May this loop end before the last message?
      def ends_early?(number) = @message_set.tracked == number && @marked != last_offset

      def begin_loop
        track = track?
        number = @loops += 1
        return number unless track

        @tracker = Fiber.current
        @message_set.tracked = number
      end

      # Returns false within another loop. That one may run in this fiber or in another. The other
      # fiber waits for this one, or it is an enumerator's (Enumerator#next) and may never be
      # resumed: a loop of the fiber that called the handler lies within none of another's.
      def track?
        return true if @message_set.tracked.nil? || !@tracker.alive?

        Fiber.current.equal?(@home) && !@tracker.equal?(@home)
      end

      def end_loop(error)
        @message_set.tracked = nil
        @at = @message_set.last_yielded_offset if error
        @left_by = error
        @child.at(nil) unless error
      end
    end
  end
end
