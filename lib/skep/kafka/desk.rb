# frozen_string_literal: true

# Where the partitions lie that this node has: ready to be drawn from, in hand, or resting after a
# failure. Shared by the keeper, who adds and revokes, the one who listens, and the workers, who
# take and free.
#
#   strand = desk.take               # messages to work on; nil when the desk has closed
#   desk.settle(strand) { … }        # its batch is done
#   desk.free(strand)                # you are through with it, or it is to rest
#   desk.listen                      # readies what librdkafka rang for, and what has rested enough
#   desk.revoke(keys, 5.0)           # takes partitions back, waiting for batches in hand
#
# What must be done in order is never with two at once, even when its partition goes and comes back
# while it is in hand.
module Skep
  module Kafka
    class Desk
      attr_reader :bell #: Bell

      # The block is told what a partition couldn't read: the partition, an error code and its text.
      #: (?Bell) ?{ (Partition, Integer, String) -> void } -> void
      def initialize(bell = Bell.new, &problem)
        @bell = bell
        @problem = problem
        @lock = Mutex.new
        @freed = ConditionVariable.new
        @partitions = {}
        @resting = Resting.new
        @ready = Thread::Queue.new # of partitions and strands
      end

      def add(partition) #: (Partition) -> void
        @lock.synchronize do
          @partitions[partition.id] = partition
          ready(partition)
          bell.ring
        end
      end

      # Waits for a strand if told to; nil when there is none, or the desk has closed. The block is
      # asked for the keys of what is read.
      #: (?wait: bool) ?{ (Batch) -> Array[untyped] } -> Strand?
      def take(wait: true, &keys)
        while wait || !@ready.empty?
          found = @ready.pop or return
          strand = found.is_a?(Strand) ? resume(found) : draw(found, &keys)
          return strand if strand
        end
      end

      # After a take. A strand with retry_at rests until then.
      def free(strand) #: (Strand) -> void
        @lock.synchronize do
          partition = strand.partition
          partition.in_hand -= 1
          put_down(strand) unless partition.revoked || partition.seeking?
          partition.revoked ? forget_idle(partition) : wake(partition)
          @freed.broadcast
        end
      end

      # The strand's batch is done; the block notes the offset elsewhere, if it is another, unless
      # the partition has been lost. Is it still ours?
      #
      #: (Strand) { (Integer) -> void } -> bool
      def settle(strand, &)
        @lock.synchronize do
          note(strand, strand.batch.last_offset, &).tap { strand.pass }
        end
      end

      # The same of its messages up to that offset.
      #: (Strand, Integer) { (Integer) -> void } -> void
      def mark(strand, offset, &)
        @lock.synchronize do
          next if strand.marked && offset <= strand.marked

          note(strand, offset, &)
          strand.marked = offset
        end
      end

      # Its partition goes on there, once no worker has anything of it in hand.
      def seek(strand, place) #: (Strand, Integer | Symbol | Time) -> void
        @lock.synchronize do
          strand.drop
          strand.partition.seek(place)
          @resting.drop(strand.partition)
        end
      end

      # Readies what has messages, and what has rested long enough.
      def listen(now = OS.now) #: (?Float) -> void
        rung = bell.heard
        @lock.synchronize do
          rung.each { |id| ring(@partitions[id]) if @partitions.key?(id) }
          @resting.over(now).each { |one| ready(one) }
        end
      end

      # When the next one has rested enough, in monotonic seconds.
      def next_deadline = @lock.synchronize { @resting.deadline } #: () -> Float?

      # Takes partitions back, waiting so many seconds at most for batches in hand; those still in
      # hand are lost then. Gives [topic, number, offset] of what was done.
      #
      #: (Array[[String, Integer]], Numeric) -> Array[[String, Integer, Integer]]
      def revoke(keys, seconds)
        @lock.synchronize do
          found = held.select { |partition| keys.include?(partition.key) }
          found.each { |partition| partition.revoked = :asked }
          found.each { |partition| forget_idle(partition) }
          wait_for(found, seconds)
          found.each { |partition| partition.revoked = :lost }
          found.filter_map(&:progress)
        end
      end

      # [topic, number, offset] of what was done so far.
      #: () -> Array[[String, Integer, Integer]]
      def done = @lock.synchronize { held.filter_map(&:progress) }

      # The partitions it has, as [topic, number].
      def keys = @lock.synchronize { held.map(&:key) } #: () -> Array[[String, Integer]]

      # Of these the ones of which something is in hand since before they were taken back.
      #: (Array[[String, Integer]]) -> Array[[String, Integer]]
      def leftover(keys)
        @lock.synchronize { @partitions.values.select(&:busy?).map(&:key) & keys }
      end

      # Through which their messages come.
      def intakes = @lock.synchronize { held.map(&:intake) } #: () -> Array[Intake]

      # Gives out no more.
      def close #: () -> void
        @lock.synchronize do
          @ready.close
          @ready.clear
        end
      end

      # Gives everything back; after `close`, when the workers are gone.
      def clear #: () -> void
        @partitions.each_value(&:close).clear
        bell.close
      end

      def inspect = "#<Skep::Kafka::Desk partitions=#{@partitions.size}>" #: () -> String

      private

      def held = @partitions.values.reject(&:revoked)

      def note(strand, offset)
        partition = strand.partition
        before = partition.position
        partition.done(strand, offset)
        return false if partition.revoked == :lost

        yield partition.position unless partition.position == before
        true
      end

      # A strand that has rested, or was divided; its partition may have gone elsewhere meanwhile.
      def resume(strand)
        @lock.synchronize do
          partition = strand.partition
          next if partition.revoked || partition.seeking? || partition.stale?(strand)

          partition.in_hand += 1
          strand
        end
      end

      def draw(partition, &)
        read(partition, &) if @lock.synchronize { begin_with(partition) }
      end

      # It needs no lock: a busy partition is with one thread only.
      def read(partition, &)
        partition.read(&)
        partition.errors.each { |code, text| @problem&.call(partition, code, text) }
        @lock.synchronize { strand_of(partition) }
      ensure
        @lock.synchronize { go_on(partition) }
      end

      # A successor waits until what its predecessor has in hand is through.
      def begin_with(partition)
        return false if partition.revoked

        before = @partitions.each_value.any? do |one|
          one.busy? && !one.equal?(partition) && one.key == partition.key
        end
        partition.state = before ? :idle : :busy
        partition.begin_reading unless before
        !before
      end

      def strand_of(partition)
        return if partition.revoked || partition.seeking?

        partition.draw.tap { |strand| partition.in_hand += 1 if strand }
      end

      def go_on(partition)
        partition.state = :idle
        if partition.revoked then forget_idle(partition)
        elsif partition.retry_at && (partition.seeking? || !partition.more?) then rest(partition)
        elsif partition.more? then ready(partition)
        end
        @freed.broadcast
      end

      # Strands of it rest, wait for a worker, or are through.
      def put_down(strand)
        strand.parts.each do |part|
          if part.retry_at then rest(part)
          elsif part.over? then part.partition.release(part)
          else ready(part)
          end
        end
      end

      def rest(one)
        one.state = :resting
        @resting.add(one)
        bell.ring
      end

      def ready(one)
        one.state = :ready
        one.retry_at = nil
        @ready << one unless @ready.closed?
      end

      def forget_idle(partition)
        return if partition.busy?

        @partitions.delete(partition.id)
        @resting.drop(partition)
        partition.close
        @partitions.each_value { |other| wake(other) if other.key == partition.key }
        bell.ring
      end

      def ring(partition)
        partition.rung = true
        wake(partition) if partition.state == :idle || partition.gathering?
      end

      # Once more, if there may be something to draw.
      def wake(partition)
        return if partition.revoked || !%i[idle resting].include?(partition.state)
        return unless partition.more?

        @resting.delete(partition)
        ready(partition)
      end

      def wait_for(found, seconds)
        deadline = OS.now + seconds
        while found.any?(&:busy?) && (left = deadline - OS.now).positive?
          @freed.wait(@lock, left)
        end
      end
    end
    private_constant :Desk
  end
end
