# frozen_string_literal: true

# Where the partitions lie that this node has: ready to be worked on, in hand, or resting after a
# failure. Shared by the keeper, who adds and revokes, the one who listens, and the workers, who
# take and free.
#
#   partition = desk.take            # a ready one, now yours alone; nil when the desk has closed
#   desk.free(partition)             # you are through with it
#   desk.listen                      # readies what librdkafka rang for, and what has rested enough
#   desk.revoke(keys, 5.0)           # takes partitions back, waiting for batches in hand
#
# Never two batches of a partition at once, even when it goes and comes back while one is in hand.
module Skep
  module Kafka
    class Desk
      attr_reader :bell #: Bell

      def initialize(bell = Bell.new) #: (?Bell) -> void
        @bell = bell
        @lock = Mutex.new
        @freed = ConditionVariable.new
        @partitions = {}
        @ready = Thread::Queue.new
      end

      def add(partition) #: (Partition) -> void
        @lock.synchronize do
          @partitions[partition.id] = partition
          ready(partition)
          bell.ring
        end
      end

      # Waits for a ready partition if told to; nil when there is none, or the desk has closed.
      def take(wait: true) #: (?wait: bool) -> Partition?
        while wait || !@ready.empty?
          partition = @ready.pop or return
          return partition if @lock.synchronize { begin_with(partition) }
        end
      end

      # After a take. A partition with retry_at rests until then.
      def free(partition) #: (Partition) -> void
        @lock.synchronize do
          partition.state = :idle
          partition.revoked ? forget(partition) : go_on(partition)
          @freed.broadcast
        end
      end

      # A batch is done; the block notes that elsewhere, unless the partition has been lost. Was it?
      #
      #: (Partition, Batch) { () -> bool } -> bool
      def settle(partition, batch)
        @lock.synchronize do
          partition.done(batch)
          partition.revoked != :lost && yield
        end
      end

      # Readies what has messages, and what has rested long enough.
      def listen(now = OS.now) #: (?Float) -> void
        rung = bell.heard
        @lock.synchronize do
          rung.each { |id| ring(@partitions[id]) if @partitions.key?(id) }
          resting.each { |partition| ready(partition) if partition.retry_at <= now }
        end
      end

      # When the next one has rested enough, in monotonic seconds.
      def next_deadline #: () -> Float?
        @lock.synchronize { resting.map(&:retry_at).reject(&:infinite?).min }
      end

      # Takes partitions back, waiting so many seconds at most for batches in hand; those still in
      # hand are lost then. Gives [topic, number, offset] of what was done.
      #
      #: (Array[[String, Integer]], Numeric) -> Array[[String, Integer, Integer]]
      def revoke(keys, seconds)
        @lock.synchronize do
          found = held.select { |partition| keys.include?(partition.key) }
          found.each { |partition| partition.revoked = :asked }
          found.reject(&:busy?).each { |partition| forget(partition) }
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
      def resting = @partitions.values.select { |partition| partition.state == :resting }

      def ready(partition)
        partition.state = :ready
        partition.rung = false
        partition.retry_at = nil
        @ready << partition unless @ready.closed?
      end

      # A successor waits until the batch its predecessor has in hand is through.
      def begin_with(partition)
        return false if partition.revoked

        twin = @partitions.values.any? { |other| other.key == partition.key && other.busy? }
        partition.state = twin ? :idle : :busy
        !twin
      end

      def go_on(partition)
        if partition.retry_at && !(partition.rung && partition.gathering?)
          partition.state = :resting
          bell.ring
        elsif partition.rung || partition.more?
          ready(partition)
        end
      end

      def forget(partition)
        @partitions.delete(partition.id)
        partition.close
        @partitions.each_value { |other| ring(other) if other.key == partition.key }
        bell.ring
      end

      def ring(partition)
        case partition.state
        when :idle then ready(partition) unless partition.revoked
        when :resting then ready(partition) if partition.gathering?
        when :busy then partition.rung = true
        end
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
