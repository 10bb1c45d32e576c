# frozen_string_literal: true

# How a worker comes by something to work on: what is next in the run queue is gone on with, if it
# is a work item, or a work item is drawn from it, if it is a partition, of which what has come in
# is read first. Both are counted as in hand.
#
#   dispatcher = Dispatcher.new(queue, assignment, lock) { |partition, code, text| … }
#   dispatcher.take              # => item; nil once the queue is closed
#
# Partitions are read without the lock, each by one thread at a time.
module Skep
  module Kafka
    module Processing
      class Dispatcher
        # The block is told what a partition couldn't read.
        #: (RunQueue, Assignment, Mutex) ?{ (AssignedPartition, Integer, String) -> void } -> void
        def initialize(queue, assignment, lock, &problem)
          @queue, @assignment, @lock = queue, assignment, lock
          @problem = problem
        end

        # See Scheduler#take.
        #: (?wait: bool) ?{ (Batch) -> Array[untyped] } -> WorkItem?
        def take(wait: true, &keys)
          while wait || !@queue.empty?
            found = @queue.pop or return
            item = found.is_a?(WorkItem) ? resume(found) : draw(found, &keys)
            return item if item
          end
        end

        def inspect = "#<Skep::Kafka::Processing::Dispatcher of #{@queue.inspect}>" #: () -> String

        private

        # A work item that has rested, or was divided; its partition may have gone elsewhere
        # meanwhile.
        def resume(item)
          @lock.synchronize do
            partition = item.partition
            next if partition.revoked || partition.stale?(item)
            next if partition.seeking? && !partition.waits_for?(item)

            partition.in_hand += 1
            item
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

          free = !@assignment.behind?(partition)
          partition.state = free ? :busy : :idle
          partition.begin_reading if free
          free
        end

        def strand_of(partition)
          return if partition.revoked

          partition.draw.tap { |item| partition.in_hand += 1 if item }
        end

        def go_on(partition)
          partition.state = :idle
          if partition.revoked then @assignment.freed(partition)
          elsif partition.retry_at && (partition.seeking? || !partition.more?)
            @queue.rest(partition)
          else @queue.wake(partition)
          end
        end
      end
    end
  end
end
