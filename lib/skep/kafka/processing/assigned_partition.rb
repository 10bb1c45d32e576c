# frozen_string_literal: true

# One partition while it is this node's: what comes in for it, and in what order it may be done.
#
#   partition = consumer.partition("orders", 3, id: 7, wakeup_pipe:, order:, limit: 500, max_wait: 0)
#   partition.begin_reading
#   partition.read             # what has come in; for one thread at a time
#   item = partition.draw    # messages to work on, nil when there are none now
#   partition.done(item, 41) # of its batch what is up to that offset
#   partition.release(item)  # it is through: what waited for it may be drawn
#
# The messages of each partition come through a queue of their own, so that one which isn't drained
# (because its batch is in hand, or failed and waits) holds up no other, and no partition has to be
# paused. When something comes into the empty queue, librdkafka writes the id into the bell.
module Skep
  module Kafka
    module Processing
      class AssignedPartition
        RETRY_SECONDS = 1.0
        private_constant :RETRY_SECONDS

        attr_reader :id #: Integer
        attr_reader :reader #: PartitionReader
        attr_reader :topic #: String
        attr_reader :number #: Integer
        attr_reader :key #: [String, Integer], topic and number
        attr_reader :errors #: Array[[Integer, String]], what the last read met
        attr_accessor :in_hand #: Integer, how many work items are with workers
        attr_accessor :state #: Symbol, one of idle ready busy resting: the scheduler's
        attr_accessor :rung #: bool, did something come in since it was last read?
        attr_accessor :retry_at #: Float?, monotonic seconds
        #: Symbol?, :asked while a batch may still be finished, :lost after that
        attr_reader :revoked
        attr_writer :in_doubt #: bool
        attr_reader :last_success #: Float?, when the last message that succeeded was begun

        # order: makes a PartitionOrder or a KeyOrder; seeking: called with topic, number and place,
        # gives the offset; limit: messages a read at most; max_wait: seconds for which fewer may
        # wait for more.
        def initialize(queue, topic, number, id:, wakeup_pipe:, order:, seeking:, limit:, max_wait:)
          @queue, @topic, @number, @id = queue, -topic, number, id # frozen: handlers see it
          @key = [@topic, number].freeze
          @order, @seeking = order, seeking
          @limit, @max_wait = limit, max_wait
          @wakeup_pipe = wakeup_pipe
          @reader = PartitionReader.new(queue, topic, number)
          @state = :idle
          @in_hand = 0
          @given = [] # batches that handlers have now
          @new = true
          start_anew
        end

        # What is read from here on isn't known to anybody yet. What rang may not be read at once,
        # for want of room or before a seek, and librdkafka doesn't ring again before it is.
        def begin_reading #: () -> void
          begin_anew if @new
          @more ||= rung
          @rung = false
          @errors = []
          @room = [@plan.room, @limit].min unless gathering?
        end

        # Reads what has come in. Where that is still to grow, retry_at says until when. The block
        # is asked for the keys of a batch, where they aren't its messages' own.
        def read(&keys) #: () ?{ (Batch) -> Array[untyped] } -> void
          return go if go?

          gather(&keys) if @room.positive? && !seeking?
        end

        # Messages to work on, which are out from here on. Without any, where nothing is unfinished
        # and behind it lie records that aren't given out (markers of transactions, what was
        # aborted): the position is to pass those.
        def draw #: () -> WorkItem?
          put if @unpacked && !seeking?
          messages, keys = @plan.take
          return item([Batch.new(topic, number, messages)], keys) if messages

          take_nothing if beyond? && !seeking?
        end

        # Would more messages make a batch of what rests?
        def gathering? = !@gathered.empty? #: () -> bool

        # Of a work item's batch what is up to that offset.
        #: (WorkItem, Integer) -> void
        def done(item, offset)
          if item.batch then @plan.done(item.batch, offset, after: item.marked)
          else @plan.reach(offset + 1)
          end
          @in_doubt = false
        end

        def release(item) = @plan.release(item) #: (WorkItem) -> void

        # A handler has done some of it, which was begun then, in monotonic seconds.
        def succeeded(began) #: (Float) -> void
          @last_success = [@last_success, began].compact.max
        end

        # All that was read is forgotten, and it goes on there once nothing is in hand any more.
        # Where a work item asks for it, whose batch ended with that offset, what is unfinished
        # before both is finished first; the work item is left as it is. Of two work items that ask,
        # the one that asks for the earlier place is heard.
        #: (Integer | Symbol | Time, ?WorkItem?, ?Integer?) -> void
        def seek(place, item = nil, last = nil)
          unless seeking? && (rank(place) <=> rank(@place)) == 1
            @place = place
            @before = [@before, last&.next, rank(place).first].compact.min
          end
          @plan.give_out_until(@before, item) if item && @before
        end

        # Until that is done a seek waits.
        def waits_for = seeking? && @before ? @plan.unfinished(@before) : nil #: () -> Integer?

        # Does a seek wait for some of that work item?
        def waits_for?(item) #: (WorkItem) -> bool
          item.offsets.any? { |offset| offset < @before.to_i }
        end

        def seeking? = !@place.nil? #: () -> bool

        # Is a work item that waited for a worker from before it went elsewhere?
        def stale?(item) = !item.plan.equal?(@plan) #: (WorkItem) -> bool

        # Could there be something to draw at once?
        def more? #: () -> bool
          return go? || @plan.any? if seeking?

          @plan.any? || ((@more || rung) && @plan.room.positive?) || beyond?
        end

        # Does what is unfinished keep the rest from being read?
        def held? = @plan.held? #: () -> bool

        def partition = self #: () -> AssignedPartition, as a work item has one
        def position = @plan.position || @start #: () -> Integer?

        # Is a work item of it, or it itself, with a worker?
        def busy? = in_hand.positive? || state == :busy #: () -> bool

        # May a transaction, or a seek just under way, have committed what the position doesn't say?
        def in_doubt? = @in_doubt || (seeking? && state == :busy) ? true : false #: () -> bool

        # Handlers that process one of its batches learn of it: Batch#each ends early.
        def revoked=(how) #: (Symbol) -> void
          @reader.shut
          @revoked = how
          @given.dup.each { |batch| batch.__end_early(at_once: how == :lost) }
        end

        # A handler is given that batch for the time of the block.
        def give(batch) #: (Batch) { () -> untyped } -> untyped
          @given << batch
          batch.__end_early if revoked
          yield
        ensure
          @given.delete_if { |one| one.equal?(batch) }
        end

        # Where it begins again after a loss, once anything was read; as `progress`.
        #: () -> [String, Integer, Integer, Integer?]?
        def restart
          (position || @first)&.then { |offset| [topic, number, offset, *epoch(offset)] }
        end

        # [topic, number, offset] to commit, if anything was done; with the leader epoch, if known.
        #: () -> [String, Integer, Integer, Integer?]?
        def progress = position&.then { |offset| [topic, number, offset, *epoch(offset)] }

        # The leader epoch of the message before that offset, to commit with it; nil if unknown.
        def epoch(offset) = @reader.epochs.at(offset) #: (Integer) -> Integer?

        def close = @queue.close #: () -> void
        def to_s = "#{topic}/#{number}" #: () -> String

        def inspect
          "#<Skep::Kafka::Processing::AssignedPartition #{self} #{state}>"
        end #: () -> String

        private

        # Earlier places are lower. What isn't known yet lies behind all offsets.
        def rank(place)
          case place
          when :beginning then [0]
          when Integer then [place]
          when Time then [Float::INFINITY, place.to_f]
          else [Float::INFINITY, Float::INFINITY]
          end
        end

        # Has the time for a seek come?
        def go? = seeking? && in_hand.zero? && waits_for.nil?

        # Is nothing unfinished, and what comes next further than the position?
        def beyond?
          return false unless @reach && @plan.clear?

          !gathering? && @unpacked.nil? && @reach > (position || -1)
        end

        def take_nothing
          @plan.take_nothing
          item([], {}).tap { @reach = nil }
        end

        # What goes by keys isn't through where its last message is.
        def item(batches, keys)
          WorkItem.new(self, batches, keys, plan: @plan, reach: (@reach unless keys&.any?))
        end

        # start: the offset at which it does, if that is known. What has come in by then isn't.
        def start_anew(start = nil)
          @more = true
          @start = start # before the plan: nobody is told the old one's, meanwhile
          @first = nil # the offset of the first message read
          @reach = nil # the offset that comes next, where that isn't the last message's next one
          @plan = @order.call
          @gathered = [] # message sets for the next batch
          @unpacked = nil
        end

        # The queue is its predecessor's, too, whose end silences it: only from here on it rings for
        # this one.
        def begin_anew
          @new = false
          listen
        end

        def listen = @queue.notify(@wakeup_pipe, id)

        def gather(&keys)
          held = @gathered.sum(&:size)
          message_set, @errors, count, reach = @reader.read(@room - held)
          @more = held + count >= @room
          @due = OS.now + @max_wait if @gathered.empty?
          @reach = reach if reach || !message_set.empty?
          @gathered << message_set unless message_set.empty?
          @first ||= message_set.first_offset
          return if @gathered.empty?

          @more || OS.now >= @due ? unpack(&keys) : @retry_at = @due
        end

        def unpack
          message_set = Librdkafka::MessageSet.join(@gathered)
          messages = @plan.unpack(message_set)
          ask = ->(some) { yield Batch.new(topic, number, some) } if block_given?
          @unpacked = [messages, @plan.keys(messages, &ask), message_set.bytes]
          @gathered = []
        end

        def put
          messages, keys, bytes = @unpacked
          @plan.put(messages, keys, bytes:)
          @unpacked = nil
        end

        def go
          start_anew(@reader.anew { @seeking.call(topic, number, @place) })
          @place = @before = nil
        rescue LibrdkafkaError => e # the cluster doesn't answer: asked again, since what was read is gone
          @errors = [[Librdkafka::ErrorCode::STATE, e.message]]
          @retry_at = OS.now + RETRY_SECONDS
        end
      end
    end
  end
end
