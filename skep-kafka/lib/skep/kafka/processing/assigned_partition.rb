# frozen_string_literal: true

# A partition that is assigned to this node: reads its messages, makes work items of them, and
# tracks which of them are done. PartitionOrder or KeyOrder decides which messages may be processed
# now, and how many are read: one batch, or by key `max_out_of_order:` messages and 16 MiB.
#
# The scheduler calls it under its lock. Without that lock, the one thread that reads it calls
# `read`, `awaiting_keys` and `assign_keys`, and the one that has its batch `enter_doubt` and the
# offsets of a database. `epoch` and `transaction_entry` are thread-safe, `with_attempt` has its own
# lock, and any thread may ask for `revocation`, `last_success` and what never changes.
#
# What it does now:
#
# | state | what it is | what ends it |
# |---|---|---|
# | :idle | nothing to read or hand out | `become_ready`, once it is `runnable?` |
# | :ready | in the scheduler's queue | `begin_reading` |
# | :reading | a thread reads it, and takes a work item | `end_reading` |
# | :backoff | waits until `retry_at`: for more messages, or to seek again | `become_ready` |
#
# In each of these, work items may be in flight: from `next_item` or `take` to `release`. WorkItem
# lists what becomes of them.
#
# Whose it is:
#
# | revocation | what it is | what ends it |
# |---|---|---|
# | nil | it is assigned | `begin_revocation` |
# | :begun | hands out nothing; what handlers still do counts | `finish_revocation` |
# | :finished | what handlers do now doesn't count | `close`: nothing is in flight any more |
#
# Where it reads: behind what it has read, or from `seek` on at another place, once nothing is in
# flight and what the seek `waits_for` is done. Until then it hands out only that.
#
# Which offset it commits: `position`, which `done` moves; none from `enter_doubt` to `done`, as a
# transaction commits it.
#
# Each partition has its own librdkafka queue. One that isn't read, because its batch is in progress
# or in backoff, delays no other, and needs no pause in librdkafka. When messages come into the
# empty queue, librdkafka writes the partition's id into a wakeup pipe.
module Skep
  module Kafka
    module Processing
      class AssignedPartition
        # Messages for the order, with their keys and how much memory they hold.
        Unpacked = Struct.new(:messages, :keys, :bytes)
        RETRY_SECONDS = 1.0
        private_constant :Unpacked, :RETRY_SECONDS

        attr_reader :id
        attr_reader :options # of its topic
        attr_reader :reader, :topic, :number
        attr_reader :key # topic and number
        attr_reader :origin # the OffsetOrigin of its offsets; nil: not known
        attr_reader :state, :revocation # see above
        attr_reader :retry_at # monotonic seconds: when to read it again
        attr_reader :in_flight # the number of work items that workers hold
        attr_reader :user_state # Batch#state
        attr_reader :last_success # when the last try that succeeded began
        attr_accessor :database_offset # the next offset in the database; nil: not known yet
        attr_accessor :left_offset # from which it went back to that one; nil: it didn't

        # seeking: called with a place, seeks there and returns the offset.
        # committed: the CommitMetadata of its last owner, if there is one. (If a deploy has changed
        # the order from by key to by partition, messages that are done beyond that offset come
        # again.) progress: a ProgressRow; nil: it has none.
        def initialize(reader, id:, wakeup_pipe:, options:, seeking:, origin: nil, committed: nil,
                       progress: nil)
          @reader, @id, @wakeup_pipe, @seeking = reader, id, wakeup_pipe, seeking
          @origin, @progress = origin, progress
          @key = reader.key
          @topic, @number = @key
          @options = options
          @limit, @max_wait = options.max_messages, options.max_wait
          @state = :idle
          @in_flight = 0
          @user_state = {}
          @attempts = {}.compare_by_identity # of handlers that run now
          @attempts_lock = Mutex.new
          @new = true
          restart_at
          @done_offsets.restore(committed, done: by_key?) if committed
        end

        # Its owner.

        def begin_revocation
          @reader.shut
          @revocation = :begun
          running.each(&:end_early)
        end

        def finish_revocation
          @revocation = :finished
          @progress&.clear
          running.each { |attempt| attempt.end_early(at_once: true) }
        end

        # A handler makes that attempt during the block. Workers call it without the scheduler's
        # lock.
        def with_attempt(attempt)
          @attempts_lock.synchronize { @attempts[attempt] = true }
          attempt.end_early if revocation
          yield
        ensure
          @attempts_lock.synchronize { @attempts.delete(attempt) }
        end

        # Reading.

        # Returns true if it is to be put into the scheduler's queue.
        def runnable?
          revocation.nil? && (state == :idle || state == :backoff) && more?
        end

        # Returns true if it waits for more messages for a batch.
        def gathering? = !@gathered.empty?

        # Returns true if there may be something to read or to hand out now.
        def more?
          return seek_now? || @order.any? if seeking?

          @order.any? || !@unpacked.nil? || gap_ahead? ||
            ((@more || @data_available) && @order.room.positive?)
        end

        # Returns true if it has room for messages, but none have been fetched.
        def awaits_messages?
          state == :idle && in_flight.zero? && !gathering? && !reader.stuck? && !more? &&
            !seeking? && @order.room.positive?
        end

        # Returns true if unfinished messages prevent reading others.
        def blocked? = @order.blocked?

        def become_ready
          @state = :ready
          @retry_at = nil
        end

        # librdkafka has put messages into the empty queue. It doesn't say so again before they are
        # read, which may be later: there may be no room for them yet. Returns false if it is to be
        # read later anyway.
        def data_available
          @data_available = true
          state == :idle || gathering?
        end

        # former_in_flight: a worker holds messages of an earlier assignment. Returns false if it
        # isn't read now.
        def begin_reading(former_in_flight: false)
          @state = former_in_flight ? :idle : :reading
          return false if former_in_flight

          enable_wakeups if @new
          @more ||= @data_available
          @data_available = false
          return true if gathering?

          @room = @done_offsets.room(@reader.next_offset, [@order.room, @limit].min)
          true
        end

        # Reads what has come in, or seeks. If fewer messages have come than a batch may have,
        # retry_at says how long to wait for more. Returns errors.
        def read
          if seek_now? then seek_to_place
          elsif @room.positive? && !seeking? && @unpacked.nil? then gather
          else []
          end
        end

        # What was read and needs the keys that the user's callable returns (`ordered_by:`), as a
        # slice; nil: nothing does. Until `assign_keys` has them, it stays.
        def awaiting_keys
          Slice.new(topic, number, @unpacked.messages) if by_key? && @unpacked && !@unpacked.keys
        end

        def assign_keys(keys) = @unpacked.keys = keys # one for each message

        # Returns true if it is in backoff now.
        def end_reading
          @state = retry_at && (seeking? || !more?) ? :backoff : :idle
          @state == :backoff
        end

        # Work items.

        # A work item of messages to process, or nil. The item has no messages if nothing is
        # unfinished and only records follow that aren't delivered (transaction markers, aborted
        # messages): the position has to move past those.
        def next_item
          return if revocation

          put if @unpacked && !seeking?
          messages, keys = @order.take
          if messages then item = item([Slice.new(topic, number, messages)], keys)
          elsif gap_ahead? && !seeking? then item = item_of_gap
          end
          @in_flight += 1 if item
          item
        end

        # A worker is about to try a work item again. Returns false if it mustn't: the partition was
        # revoked meanwhile, or has moved elsewhere.
        def take(item)
          return false if revocation || !item.order.equal?(@order) || !keeps?(item)

          @in_flight += 1
          true
        end

        # Returns the parts of a work item that no worker holds any more: WorkItem#parts.
        def release(item)
          @in_flight -= 1
          item.parts
        end

        # A part waits for its retry. Returns false if a commit doesn't have its failures.
        def failed(part)
          part.order.await_retry(part) if part.keys && part.failed_alone?
          @done_offsets.failed(part)
        end

        # What becomes of a part: it waits in :backoff, or it is :ready for another try. Nil if it
        # is done, or a seek passes over it.
        def put_back(part)
          return unless keeps?(part)
          return :backoff if part.retry_at && !succeeded_since?(part.awaiting)
          return :ready unless part.done?

          @order.release(part)
          nil
        end

        # A handler has processed messages. began: when that try began, in monotonic seconds.
        def succeeded(began)
          @last_success = [@last_success, began].compact.max
        end

        # Returns true if a worker reads it or holds a work item of it.
        def in_flight? = in_flight.positive? || state == :reading

        # Seeks.

        # Forgets what was read and continues at that place, once nothing is in flight. If a work
        # item asks for it, whose batch ended with the offset `last`, unfinished messages before
        # both places are processed first, but not those of the work item. If two work items ask,
        # the earlier place counts.
        def seek(place, item = nil, last = nil)
          unless seeking? && (rank(place) <=> rank(@place)) == 1
            @place = place
            @before = [@before, last&.next, rank(place).first].compact.min
          end
          pass_over(item, behind: !place.is_a?(Integer)) if item
        end

        def seeking? = !@place.nil?

        # The lowest offset for which a seek waits; nil if there is none.
        def waits_for = seeking? && @before ? @done_offsets.unfinished(@before) : nil

        # Returns false if it seeks, and doesn't wait for that work item. It waits for messages of
        # it, or for the end of its pause: others of its keys may be behind it. It doesn't wait for
        # one that is held.
        def keeps?(item)
          return true unless seeking?

          if item.held?
            pass_over(item)
            return false
          end
          item.done? || item.offsets.any? { |offset| offset < @before.to_i }
        end

        # Offsets.

        # The messages of the item's batch up to that offset are done.
        def done(item, offset)
          if item.slice.nil? then @done_offsets.skip_to(offset + 1)
          elsif item.keys then offsets = @done_offsets.done(item.slice, offset, after: item.marked)
          else @done_offsets.move_to(offset + 1)
          end
          @in_doubt = false
          note_progress(offsets)
        end

        # Returns true if a transaction, or a seek in progress, may have committed another offset
        # than the position.
        def in_doubt? = @in_doubt || (seeking? && state == :reading) ? true : false

        def enter_doubt = @in_doubt = true

        def position = @done_offsets.position
        def done_beyond = @done_offsets.done_beyond # offsets that are done after the position

        # Where its next owner begins if nothing more is committed; nil before the first read.
        def resume_entry = (position || @first)&.then { |offset| entry_with_acks(offset) }

        # [topic, number, offset, epoch, metadata] to commit, without the last two if they aren't
        # known; nil if nothing is done, and no message has failed alone.
        def commit_entry = done_to&.then { |offset| entry_with_acks(offset) }

        # The same for librdkafka to commit, which happens after each batch: without the metadata
        # that takes long. labelled: false leaves out the rest of it.
        def store_entry(labelled: true)
          offset = position
          entry(offset, (@done_offsets.label(offset) if labelled))
        end

        # The offset of a transaction: its batch is done before it.
        def transaction_entry(offset) = entry(offset, @done_offsets.label(offset))

        # The offset of `commit_entry`.
        def done_to = position || (@first if @done_offsets.failures.any?)

        # The leader epoch of the message before that offset, to commit with it; nil if unknown.
        def epoch(offset) = @reader.epochs.at(offset)

        def partition = self # as WorkItem has it
        def close = @reader.close
        def to_s = "#{topic}/#{number}"
        def inspect = "#<Skep::Kafka::Processing::AssignedPartition #{self} #{state}>"

        private

        def running = @attempts_lock.synchronize { @attempts.keys }

        # Returns true if a success began after that time.
        def succeeded_since?(time)
          time && last_success ? last_success > time : false
        end

        # A seek doesn't wait for the work item. behind: nor for messages behind it of its keys,
        # which may be read again with it. (A seek to an offset reads none before it again.)
        def pass_over(item, behind: true)
          @order.take_until(@before, item, behind:) if @before
        end

        # Earlier places are lower. Places whose offset isn't known yet are above all offsets.
        def rank(place)
          case place
          when :beginning then [0]
          when Integer then [place]
          when Time then [Float::INFINITY, place.to_f]
          else [Float::INFINITY, Float::INFINITY]
          end
        end

        # Returns true if a seek has nothing more to wait for.
        def seek_now? = seeking? && in_flight.zero? && waits_for.nil?

        # Returns true if nothing is unfinished and the next message is further than the position.
        def gap_ahead?
          return false unless @end_offset && @order.clear?

          !gathering? && @unpacked.nil? && @end_offset > (position || -1)
        end

        def item_of_gap
          @order.take_nothing
          item([], {}).tap { @end_offset = nil }
        end

        # By key, a work item's last message isn't the last one that was read.
        def item(slices, keys)
          end_offset = @end_offset unless keys&.any?
          WorkItem.new(self, @done_offsets.isolate(slices), keys,
                       order: @order, end_offset:, failures_by_offset: @done_offsets.failures)
        end

        def entry_with_acks(offset) = entry(offset, @done_offsets.metadata(offset))

        def entry(offset, metadata)
          metadata ? [*key, offset, epoch(offset), metadata] : [*key, offset, *epoch(offset)]
        end

        # start: the offset at which it starts, if that is known.
        def restart_at(start = nil)
          @more = true
          @first = nil # the offset of the first message read
          @end_offset = nil # the next offset, if it isn't the one after the last message
          @done_offsets = DoneOffsets.new(@reader, origin: @origin, start:)
          @order = new_order
          @gathered = [] # message sets for the next batch
          @unpacked = nil
        end

        def by_key? = @options.ordered_by != :partition

        def new_order
          return PartitionOrder.new(limit: @limit) unless by_key?

          KeyOrder.new(@done_offsets, limit: @limit, threads: @options.threads,
                                 max_out_of_order: @options.max_out_of_order)
        end

        # An earlier assignment has the same queue, and disables its wake-ups when it is closed:
        # they are enabled only from here on.
        def enable_wakeups
          @new = false
          @reader.notify(@wakeup_pipe, id)
        end

        def gather
          held = @gathered.sum(&:size)
          message_set, errors, count, end_offset = @reader.read(@room - held)
          @more = held + count >= @room
          @due = OS.now + @max_wait if @gathered.empty?
          @end_offset = end_offset if end_offset || !message_set.empty?
          @gathered << message_set unless message_set.empty?
          @first ||= message_set.first_offset
          if @gathered.any?
            @more || OS.now >= @due ? unpack : @retry_at = @due
          end
          errors
        end

        # By key the messages are an array: they are compared by identity.
        def unpack
          message_set = Librdkafka::MessageSet.join(@gathered)
          @gathered = []
          return @unpacked = Unpacked.new(message_set) unless by_key?

          messages = without_done(message_set.to_a)
          return if messages.empty?

          keys = messages.map { |one| one.key || one.offset } if @options.ordered_by == :key
          @unpacked = Unpacked.new(messages, keys, message_set.bytes)
        end

        def without_done(messages)
          left = @done_offsets.without_done(messages)
          @end_offset ||= messages.last.offset + 1 unless left.last.equal?(messages.last)
          left
        end

        # offsets: by key, those that are done now.
        def note_progress(offsets)
          return unless @progress

          known = position # by key there may be none yet
          @progress.done(known, epoch: (epoch(known) if known), offsets:,
                                highest: offsets ? @reader.epochs.highest : 0)
        end

        def put
          @progress&.opened(@unpacked.messages)
          @order.put(@unpacked.messages, @unpacked.keys, @unpacked.bytes)
          @unpacked = nil
        end

        # Returns errors.
        def seek_to_place
          restart_at(@reader.restart { @seeking.call(@place) })
          @place = @before = nil
          []
        rescue LibrdkafkaError => e # no answer: tried again, since what was read is dropped already
          @retry_at = OS.now + RETRY_SECONDS
          [[Librdkafka::ErrorCode::STATE, e.message]]
        end
      end
    end
  end
end
