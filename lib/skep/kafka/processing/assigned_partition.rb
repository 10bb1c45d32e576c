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
        # Messages of which the user's callable has to tell the keys (`ordered_by:`).
        Unsorted = Struct.new(:partition, :batch, :bytes) do
          def needs_keys? = true
        end
        RETRY_SECONDS = 1.0
        private_constant :RETRY_SECONDS

        attr_reader :id #: Integer
        attr_reader :reader #: PartitionReader
        attr_reader :topic #: String
        attr_reader :number #: Integer
        attr_reader :key #: [String, Integer], topic and number
        attr_reader :errors #: Array[[Integer, String]], what the last read met
        attr_reader :in_flight #: Integer, the number of work items that workers hold
        attr_reader :state #: Symbol, :idle, :ready, :backoff or :reading
        attr_reader :retry_at #: Float?, monotonic seconds: when to read it again
        attr_reader :unsorted #: Unsorted?, what was read and waits for its keys
        #: Symbol?, :asked while a batch may still be finished, :lost after that
        attr_reader :revoked
        attr_writer :in_doubt #: bool
        attr_reader :last_success #: Float?, when the last message that succeeded was begun

        # order: makes a PartitionOrder or a KeyOrder; seeking: called with topic, number and place,
        # gives the offset; limit: messages a read at most; max_wait: seconds for which fewer may
        # wait for more; queue position: how far librdkafka has given it out.
        def initialize(queue, topic, number, id:, wakeup_pipe:, order:, seeking:, limit:, max_wait:,
                       queue_position: nil)
          @queue, @topic, @number, @id = queue, -topic, number, id # frozen: handlers see it
          @key = [@topic, number].freeze
          @order, @seeking = order, seeking
          @limit, @max_wait = limit, max_wait
          @wakeup_pipe = wakeup_pipe
          @reader = PartitionReader.new(open_queue(limit), topic, number, queue_position)
          @state = :idle
          @in_flight = 0
          @given = [] # batches that handlers have now
          @new = true
          start_anew
        end

        # The scheduler makes it ready to be read: it isn't in backoff any more.
        def ready #: () -> void
          @state = :ready
          @retry_at = nil
        end

        def idle = @state = :idle #: () -> void
        def back_off = @state = :backoff #: () -> void
        def item_taken = @in_flight += 1 #: () -> void
        def item_released = @in_flight -= 1 #: () -> void

        # librdkafka has put messages into the empty queue. It doesn't say so again before they are
        # read, which may be later: there may be no room for them yet.
        def data_available = @data_available = true #: () -> void

        def begin_reading #: () -> true
          @state = :reading
          begin_anew if @new
          @more ||= @data_available
          @data_available = false
          @errors = []
          @room = [@plan.room, @limit].min unless gathering?
          true
        end

        # Reads what has come in, or seeks. If fewer messages have come than a batch may have,
        # retry_at says how long to wait for more. `unsorted` is what needs keys before `draw`.
        def read #: () -> void
          return go if go?

          gather if @room.positive? && !seeking? && unsorted.nil?
        end

        # The keys of `unsorted`'s messages, one for each.
        def sort(keys) #: (Array[untyped]) -> void
          @unpacked = [@unsorted.batch.messages, keys, @unsorted.bytes]
          @unsorted = nil
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

        # Returns true if a success began after that time.
        def succeeded_since?(time) #: (Float?) -> bool
          time && last_success ? last_success > time : false
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

          @plan.any? || !unsorted.nil? || beyond? ||
            ((@more || @data_available) && @plan.room.positive?)
        end

        # Returns true if it is to be read at retry_at, and not before that.
        def wait? = !retry_at.nil? && (seeking? || !more?) #: () -> bool

        # Does what is unfinished keep the rest from being read?
        def held? = @plan.held? #: () -> bool

        def partition = self #: () -> AssignedPartition, as a work item has one
        def position = @plan.position || @start #: () -> Integer?

        # Returns true if a worker reads it or holds a work item of it.
        def in_flight? = in_flight.positive? || state == :reading #: () -> bool

        # May a transaction, or a seek just under way, have committed what the position doesn't say?
        def in_doubt? = @in_doubt || (seeking? && state == :reading) ? true : false #: () -> bool

        # how: :asked or :lost. Handlers that process one of its batches learn of it: Batch#each
        # ends early.
        def revoke(how) #: (Symbol) -> void
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

        def close #: () -> void
          return unless @queue

          @reader.close
          Librdkafka::Bindings.queue_io_event_enable(@queue, -1, nil, 0)
          Librdkafka::Bindings.queue_destroy(@queue)
          @queue = nil
        end

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
        def go? = seeking? && in_flight.zero? && waits_for.nil?

        # Is nothing unfinished, and what comes next further than the position?
        def beyond?
          return false unless @reach && @plan.clear?

          !gathering? && @unpacked.nil? && @unsorted.nil? && @reach > (position || -1)
        end

        def take_nothing
          @plan.take_nothing
          item([], {}).tap { @reach = nil }
        end

        # What goes by keys isn't through where its last message is.
        def item(batches, keys)
          WorkItem.new(self, batches, keys, plan: @plan, reach: (@reach unless keys&.any?))
        end

        def open_queue(limit) = Librdkafka::PartitionQueue.new(@queue, topic, number, limit)

        # start: the offset at which it does, if that is known. What has come in by then isn't.
        def start_anew(start = nil)
          @more = true
          @start = start # before the plan: nobody is told the old one's, meanwhile
          @first = nil # the offset of the first message read
          @reach = nil # the offset that comes next, where that isn't the last message's next one
          @plan = @order.call
          @gathered = [] # message sets for the next batch
          @unpacked = @unsorted = nil
        end

        # The queue is its predecessor's, too, whose end silences it: only from here on it rings for
        # this one.
        def begin_anew
          @new = false
          listen
        end

        def listen = @wakeup_pipe.told_by(@queue, id)

        def gather
          held = @gathered.sum(&:size)
          message_set, @errors, count, reach = @reader.read(@room - held)
          @more = held + count >= @room
          @due = OS.now + @max_wait if @gathered.empty?
          @reach = reach if reach || !message_set.empty?
          @gathered << message_set unless message_set.empty?
          @first ||= message_set.first_offset
          return if @gathered.empty?

          @more || OS.now >= @due ? unpack : @retry_at = @due
        end

        def unpack
          message_set = Librdkafka::MessageSet.join(@gathered)
          messages = @plan.unpack(message_set)
          if @plan.needs_keys?
            @unsorted = Unsorted.new(self, Batch.new(topic, number, messages), message_set.bytes)
          else
            @unpacked = [messages, @plan.keys(messages), message_set.bytes]
          end
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
