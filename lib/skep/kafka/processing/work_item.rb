# frozen_string_literal: true

# Messages of a partition that must be done one after the other: what a worker has in hand. Of a
# partition there is one at a time; with `ordered_by: :key` there are many, and no key is in two.
#
#   item.batch               # the one to work on now; nil when the work item is through
#   item.pass                # it is done: the next one
#   item.marked = 41         # of this batch the messages up to that offset are done
#   item.cut                 # goes on with what comes after the mark
#   item.rest(0.2)           # it is tried again after so many seconds; others go on
#   item.rest(9, awaiting: OS.now)   # or when others succeed that were begun after that time
#
# It knows what is to be tried, and how often that failed, and does nothing by itself.
module Skep
  module Kafka
    module Processing
      class WorkItem
        attr_reader :partition #: AssignedPartition
        attr_reader :keys #: Hash[Integer, untyped]?, the key of each offset, if it goes by keys
        attr_reader :plan #: (PartitionOrder | KeyOrder)?, of the partition's, what gave it out
        attr_reader :reach #: Integer?, the next offset that may be a message, after all of its own
        attr_accessor :marked #: Integer?, the offset up to which its batch is done
        attr_reader :failures #: Failure::FailureCount, of the batch
        attr_accessor :retry_at #: Float?, monotonic seconds
        # Float?, monotonic seconds: a success begun after that ends its rest.
        attr_reader :awaiting

        # since: when the batch failed first that these are a part of; outage_since: see
        # Failure::FailureCount.
        #: (AssignedPartition, Array[Batch], ?Hash[Integer, untyped]?, **untyped) -> void
        def initialize(partition, batches, keys = nil, plan: nil, reach: nil, since: nil,
                       outage_since: nil)
          @partition = partition
          @plan, @reach = plan, reach
          @waiting = batches
          @keys = keys
          @failures = Failure::FailureCount.new(since:, outage_since:)
          @since = since
          @offshoots = []
        end

        def needs_keys? = false #: () -> bool, as AssignedPartition::Unsorted has it
        def ready = @retry_at = nil #: () -> void, the scheduler lets it be tried now
        def batch = @waiting.first #: () -> Batch?
        def over? = @waiting.empty? #: () -> bool

        # Of all its messages.
        #: () -> Array[Integer]
        def offsets = @waiting.flat_map { |batch| batch.messages.map(&:offset) }

        # Up to which its partition is done with the batch; or with nothing, if it reaches on.
        def last_offset #: () -> Integer
          @reach && @waiting.size < 2 ? @reach - 1 : batch.last_offset
        end

        def pass #: () -> void
          @waiting.shift
          @failures = Failure::FailureCount.new(since: @since, outage_since: failures.outage_since)
          @marked = nil
          let_go if keys && !over?
        end

        # The handler raised, at that offset if that is known.
        def failed(offset, now = OS.now) #: (Integer?, ?Float) -> void
          failures.add(batch.size == 1 ? batch.first_offset : offset, now)
        end

        # What is marked isn't tried again. How many messages that were.
        def cut #: () -> Integer
          return 0 unless @marked

          before, left = batch.size, batch.__after(@marked)
          @waiting.insert(1, left) if left
          pass
          before - (left&.size || 0)
        end

        # Goes on with the batch message by message.
        def split #: () -> void
          @waiting[0, 1] = batch.split
          count_again
          @with = nil
        end

        # Goes on with the batch so that those messages are in batches of their own of which the
        # block is true.
        def isolate(&) #: () { (Message) -> bool } -> void
          @waiting[0, 1] = batch.isolate(&)
        end

        # Keys that aren't to wait for the one that failed go their own way: all others than that
        # offset's, at once if some of the batch went well; or half of them, after the same rest,
        # where it isn't known which one it was. The others have not failed; of two halves, neither.
        def divide(offset, wait: true) #: (Integer?, ?wait: bool) -> void
          @with = nil
          others = keys && @waiting.one? ? others_than(offset) : []
          return if others.empty?

          count_again unless offset
          offshoot = send_off(others)
          @with = [self, *(offshoot if wait || offset.nil?)]
        end

        # awaiting: the time after which a success must be begun to end the rest early.
        #: (Numeric, ?awaiting: Float?) -> void
        def rest(seconds, awaiting: nil)
          (@with || [self]).each do |item|
            item.retry_at = OS.now + seconds
            item.awaiting = awaiting
          end
          @with = nil
        end

        # It, and those that go their own ways from here on.
        def parts = [self, *@offshoots.slice!(0..)] #: () -> Array[WorkItem]

        # It rests until the node ends; other keys than that of its batch, of one message, go on.
        def pause #: () -> void
          send_off(keys.values.uniq - [keys[batch.first_offset]]) if keys
          @retry_at = Float::INFINITY
          @awaiting = nil
        end

        # Nothing of it is tried any more.
        def drop #: () -> void
          @waiting.clear
          @reach = nil
        end

        def inspect
          "#<Skep::Kafka::Processing::WorkItem #{batch&.label || partition} failures=#{failures.count}>"
        end

        protected

        attr_writer :awaiting

        private

        # Which part of the batch failed isn't known: each begins with no failure, and with the
        # time.
        def count_again
          @since = failures.since
          @failures = Failure::FailureCount.new(since: @since, outage_since: failures.outage_since)
        end

        # Keys of which nothing is left to do hold up nobody.
        def let_go
          left = @waiting.flat_map { |batch| batch.messages.map { |message| keys[message.offset] } }
          done = keys.values.uniq - left
          send_off(done) if done.any?
        end

        # Those keys go their own way, each of their batches as it is here, with no failure counted.
        def send_off(others)
          others = others.to_h { |key| [key, true] }
          theirs, @keys = keys.partition { |_, key| others.key?(key) }.map(&:to_h)
          off = @waiting.filter_map { |batch| batch.__part { |one| theirs.key?(one.offset) } }
          @waiting = @waiting.filter_map { |batch| batch.__part { |one| @keys.key?(one.offset) } }
          outage_since = failures.outage_since
          WorkItem.new(partition, off, theirs, plan:, since: @since, outage_since:)
                .tap { |one| @offshoots << one }
        end

        def others_than(offset)
          there = batch.messages.map { |message| keys[message.offset] }.uniq
          offset ? there - [keys[offset]] : there.drop((there.size + 1) / 2)
        end
      end
    end
  end
end
