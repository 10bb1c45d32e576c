# frozen_string_literal: true

# One try of a work item's messages, and what the handler has done with them. It decides nothing.
# The handler gets a Batch, which writes here. Failure::RetryPolicy decides by this.
#
#   attempt = Attempt.new(item.slice, node, marker)   # Batch#mark calls marker.mark(offset)
#   attempt.filter(kept)                # the handler gets only these messages of it
#   handler.call(attempt.batch, node)
#   attempt.requested                   # => [:pause, 30, :info] or [:seek, 41]: Batch#pause, #seek
#   attempt.ended_at                    # => 41, the last message yielded, if `each` ended early
#   attempt.failed_at(error)            # => 41, the message yielded when the error left the loop
#   attempt.failed(error, 41, size: 1)  # facts of a failure, see below
#
# `each` reports its progress to the node. Of nested loops only the outermost one is reported, so
# that the supervisor knows which message was yielded last if the node crashes.
module Skep
  module Kafka
    module Processing
      class Attempt
        CAUSE = Exception.instance_method(:cause) # the user's class may have a method of that name
        private_constant :CAUSE

        attr_reader :slice # what the handler gets
        attr_reader :filtered # how many messages the handler doesn't get
        attr_reader :requested, :ended_at
        attr_accessor :tracing # Metrics::Tracing
        attr_accessor :clock_ahead # of the writer's host, by so many seconds; nil: not known

        # Facts of a failed attempt. error: what was raised; offset: of the message at which it was,
        # if that is known. marked: up to which offset the slice is done. size: how many messages
        # are tried together again; by key those of the key that failed. halved: by key it isn't
        # known which key failed, and half of them are tried apart. unreadable: the offsets of
        # messages for which the deserializer raised. crashes: how many nodes a poison message has
        # ended, which wasn't tried; nil: it isn't one.
        attr_reader :error, :offset, :marked, :size, :halved, :unreadable, :crashes

        # one_transaction: what the handler writes is committed together.
        def initialize(slice, node = nil, marker = nil, one_transaction: false)
          @node, @marker, @whole, @one_transaction = node, marker, slice, one_transaction
          @filtered = 0
          take(slice)
        end

        def filter(messages)
          @filtered = @slice.size - messages.size
          narrow(messages)
        end

        # The handler gets these messages instead.
        def narrow(messages) = take(@whole.with(messages))

        def batch = Batch.new(@slice, self)
        def topic = @whole.topic

        # The handler is about to be called. Returns false if the partition isn't this node's any
        # more.
        def owned?(ownership)
          @ownership = ownership
          @seen_all = false # filters and deserializers don't count
          @looped = @loops
          ownership.confirmed?.tap { |ours| @ended_at = @slice.first_offset - 1 unless ours }
        end

        # Returns true if the handler has been called.
        def begun? = !@ownership.nil?

        # `each` ends after the current message; if it hasn't begun, after its first one, or with
        # at_once before that.
        def end_early(at_once: false) = @message_set.end_early(at_once)

        # The handler has returned: a handler that keeps the batch can't mark anything any more.
        def detach = @marker = nil

        # The last message that is done if `each` has ended early. A transaction holds all outputs
        # of the handler: none is done if some of them may come from messages that the partition's
        # next owner processes.
        def last_done
          @one_transaction && seen_beyond_end? ? @whole.first_offset - 1 : @ended_at
        end

        # The offset of the message that `each` had yielded when this error, or a cause of it, left
        # the loop; nil if it came from elsewhere.
        def failed_at(error)
          error = CAUSE.bind_call(error) until error.nil? || error.equal?(@left_by)
          @at if error
        end

        def failed(error, offset, marked: nil, size: 1, halved: false, unreadable: [], crashes: nil)
          @error, @offset, @marked, @size = error, offset, marked, size
          @halved, @unreadable, @crashes = halved, unreadable, crashes
          self
        end

        # Of a message that is marked nothing is tried again. If it isn't known at which message the
        # handler raised, and it has marked some, it may have been one of those.
        def raised_at_marked? = !marked.nil? && (offset.nil? || offset <= marked)

        # Returns true if it failed at its first message.
        def failed_first? = offset == @whole.first_offset

        # Returns true if not all of its messages are marked.
        def unmarked? = marked.nil? || marked < @whole.last_offset

        # Returns true if the deserializer raised for some messages of several.
        def unreadable_of_several? = unreadable.any? && @whole.size > 1

        # Returns true if it is a failure of what is tried again.
        def counted? = !raised_at_marked? && !unreadable_of_several?

        def several? = size > 1

        # Returns true if it is known which message has failed, and only that one is tried again.
        def one_message? = size == 1 && !halved

        # How many of its messages the handler has tried by themselves, after the mark if there is
        # one: all that `each` has yielded, or the batch as a whole.
        def tried(marked)
          return 1 if @seen_all || @loops == @looped

          marked ? @slice.size - @slice.count_to(marked) : @slice.size
        end

        # What Batch calls.

        def revoked? = @ownership ? @ownership.revoked? : false
        def state = @ownership ? @ownership.state : (@state ||= {})
        def request(*requested) = @requested = requested
        def see_all = @seen_all = true

        def mark(offset)
          return false unless @marker

          yielded = @ended_at ? [offset, last_done].min : offset
          return false if yielded < @slice.first_offset || @marker.mark(yielded) == false

          @all_marked ||= yielded == @slice.last_offset
          yielded == offset
        end

        def each(&block)
          return repeat(&block) if @ended_at

          block = traced(block) if tracing
          number = begin_loop
          ended = @message_set.each_tracked(@node, number, ownership_of(number), &block)
          @ended_at = [ended, @slice.first_offset - 1].max if ended
        rescue Exception => e # even one that ends the node: the message remains on the scoreboard
          raise
        ensure
          end_loop(e) if @message_set.tracked == number
        end

        def inspect = "#<Skep::Kafka::Processing::Attempt #{@slice.label}>"

        private

        # Returns true if the handler may have processed messages after `ended_at`: it used
        # `messages` or `payloads`, or had another loop before the one that ended early.
        def seen_beyond_end? = @seen_all || @loops - @looped > 1

        def take(slice)
          @slice = slice
          @message_set = slice.message_set
          @message_set.tracked = nil
          @loops = @looped = 0
          @left_by = nil
          @home = Fiber.current
        end

        def traced(block)
          proc { |message| tracing.message(message) { block.call(message) } }
        end

        # A loop after one that has ended early yields the same messages.
        def repeat
          @message_set.each do |message|
            break if message.offset > @ended_at

            @node.current_item(message.offset)
            yield message
          end
        end

        # This loop may end before the last message, unless it is within another, or all is marked.
        def ownership_of(number)
          @ownership if @message_set.tracked == number && !@all_marked
        end

        def begin_loop
          track = track?
          number = @loops += 1
          return number unless track

          @tracker = Fiber.current
          @message_set.tracked = number
        end

        # Returns false within another loop, which may run in this fiber or in another. Another
        # fiber waits for this one, or it is an enumerator's (Enumerator#next) and may never be
        # resumed: a loop of the fiber that called the handler isn't within a loop of another fiber.
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
end
