# frozen_string_literal: true

# One partition while it is this node's: its messages, the batch being tried, and when to try again.
#
#   partition = consumer.partition("orders", 3, id: 7, bell:, limit: 500, max_wait: 0)
#   batch = partition.draw      # the next messages, nil when there are none now
#   partition.done(batch)       # they are done: the next draw gives the following ones
#
# The messages of each partition come through a queue of their own, so that one which isn't drained
# (because its batch is in hand, or failed and waits) holds up no other, and no partition has to be
# paused. When something comes into the empty queue, librdkafka writes the id into the bell.
module Skep
  module Kafka
    class Partition
      attr_reader :id #: Integer
      attr_reader :topic #: String
      attr_reader :number #: Integer
      attr_reader :position #: Integer?, the offset after the last message done
      attr_reader :errors #: Array[[Integer, String]], what the last draw couldn't read
      attr_accessor :failures #: Integer, how often the batch in hand failed
      attr_accessor :state #: Symbol, one of idle ready busy resting: the desk's
      attr_accessor :rung #: bool, did something come in while it was busy?
      attr_accessor :retry_at #: Float?, monotonic seconds
      #: Symbol?, :asked while a batch may still be finished, :lost after that
      attr_accessor :revoked

      # limit: messages a batch at most; max_wait: seconds for which a smaller batch may wait for
      # more.
      def initialize(queue, topic, number, id:, bell:, limit:, max_wait:)
        @queue, @topic, @number, @id = queue, topic, number, id
        @limit = limit
        @max_wait = max_wait
        @reader = open_reader(limit)
        @state = :idle
        @failures = 0
        @waiting = [] # batches to work on before anything is read
        @gathered = [] # hauls for the next one
        watch(bell)
      end

      # The batch to work on: the one that failed, or else what has come in. Where that is still to
      # grow there is none, and retry_at says until when.
      def draw #: () -> Batch?
        @errors = []
        @more = true
        gather if @waiting.empty?
        @waiting.first
      end

      # Would more messages make a batch of what rests?
      def gathering? = !@gathered.empty? #: () -> bool

      # This batch is done with.
      def done(batch) #: (Batch) -> void
        @waiting.shift
        @failures = 0
        @position = batch.last_offset + 1
      end

      # Goes on with the batch in hand message by message.
      def split #: () -> void
        @waiting[0, 1] = @waiting.first.split
        @failures = 0
      end

      # Goes on with the batch in hand so that those messages are in batches of their own of which
      # the block is true.
      def isolate(&) #: () { (Message) -> bool } -> void
        @waiting[0, 1] = @waiting.first.isolate(&)
      end

      # It rests until the node ends.
      def pause #: () -> void
        @retry_at = Float::INFINITY
      end

      # Could there be something to draw at once?
      def more? = @more || !@waiting.empty? #: () -> bool

      def key = [topic, number] #: () -> [String, Integer]
      def busy? = state == :busy #: () -> bool

      # [topic, number, offset] to commit, if anything was done.
      #: () -> [String, Integer, Integer]?
      def progress = position && [topic, number, position]

      def close #: () -> void
        return unless @queue

        @reader.close
        Native.queue_io_event_enable(@queue, -1, nil, 0)
        Native.queue_destroy(@queue)
        @queue = nil
      end

      def to_s = "#{topic}/#{number}" #: () -> String
      def inspect = "#<Skep::Kafka::Partition #{self} #{state}>" #: () -> String

      private

      def open_reader(limit) = Reader.new(@queue, topic, number, limit)

      # Without forwarding the messages stay here, instead of joining all others in the consumer's
      # queue.
      def watch(bell)
        Native.queue_forward(@queue, nil)
        bell.told_by(@queue, id)
      end

      def gather
        held = @gathered.sum(&:size)
        haul, @errors, count = @reader.read(@limit - held)
        @more = held + count >= @limit
        @due = OS.now + @max_wait if @gathered.empty?
        @gathered << haul unless haul.empty?
        return if @gathered.empty?

        @more || OS.now >= @due ? hand_over : @retry_at = @due
      end

      def hand_over
        @waiting << Batch.new(topic, number, Haul.join(@gathered))
        @gathered = []
      end
    end
    private_constant :Partition
  end
end
