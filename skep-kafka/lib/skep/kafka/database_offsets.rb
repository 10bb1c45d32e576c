# frozen_string_literal: true

# A source's offsets in the database of its handlers, for `offsets: :database`. Each batch is one
# Active Record transaction: what the handler writes and the partition's next offset are committed
# together, or not at all. Messages that another attempt has done already are left out, so each is
# done exactly once in that database. Needs Active Record 7.2 or newer.
#
#   class CreateSkepOffsets < ActiveRecord::Migration[7.2]
#     def change = Skep::Kafka::DatabaseOffsets.create_table(self)
#   end
#
# In Rails, `bin/rails generate skep:offsets` writes that migration. The table skep_offsets has a
# row for each group, topic and partition:
#
# | column | |
# |---|---|
# | consumer_group, topic, partition | the primary key |
# | next_offset | of the first message that isn't done |
# | leader_epoch | of the message before it; null if unknown |
# | cluster_id, topic_id | to which topic the offset belongs; null if unknown |
# | updated_at | |
#
# A row is locked while its batch is processed. So a node that doesn't know yet that it has lost its
# partition can't write beside the new owner: the second one finds what the first one has done.
module Skep
  module Kafka
    class DatabaseOffsets
      # The table's name.
      TABLE = "skep_offsets"
      KEY = %w[consumer_group topic partition].freeze
      ORIGIN = %w[cluster_id topic_id].freeze
      # A lock that another process holds is tried again after a backoff: the node doesn't hang.
      LOCK = "FOR UPDATE NOWAIT"
      NOW = "CURRENT_TIMESTAMP"
      END_SECONDS = 5.0
      private_constant :KEY, :ORIGIN, :LOCK, :NOW, :END_SECONDS

      class << self
        # Creates the table. Call it in a migration, or with a connection of Active Record.
        def create_table(connection)
          connection.create_table(TABLE, primary_key: KEY) do |table|
            table.string :consumer_group, limit: 255, null: false
            table.string :topic, limit: 249, null: false
            table.integer :partition, null: false
            table.bigint :next_offset, null: false
            table.integer :leader_epoch
            table.string :cluster_id, limit: 255
            table.string :topic_id, limit: 255
            table.datetime :updated_at, null: false
          end
        end

        # Raises a BootError if the database can't be used.
        def check
          return if __record.table_exists?

          raise ConfigurationError.new(sentences: [NO_TABLE])
        rescue LoadError => e
          raise MissingGem.new(gem: "activerecord", cause: e.message)
        rescue ::ActiveRecord::ActiveRecordError => e
          raise DatabaseUnreachable.new(cause: e)
        end

        # Deletes a group's rows: a test run begins without any.
        def __forget(group) = __record.where(consumer_group: group).delete_all

        # The table's Active Record class.
        def __record
          @record ||= begin
            require "active_record"
            Class.new(::ActiveRecord::Base) { self.table_name = TABLE }
          end
        end
      end

      NO_TABLE = "offsets: :database needs the table #{TABLE}, which the database doesn't have. " \
                 "Create it in a migration: Skep::Kafka::DatabaseOffsets.create_table(self). " \
                 "In Rails, `bin/rails generate skep:offsets` writes it"
      private_constant :NO_TABLE

      # report: a Metrics::EventReporter.
      def initialize(group, consumer, report)
        @group, @consumer, @report = group, consumer, report
      end

      # Yields in a transaction. The attempt goes without the messages that are done according to
      # the database. Commits what the block has written with the offset after the one that the
      # block returns; nil rolls all of it back.
      def process(item, attempt)
        transaction(item.partition, item.slice.first_offset) do |position|
          next go_back(item, attempt, position) if behind?(item, position)

          report_behind(item)
          leave_out_done(attempt, position)
          last = yield
          raise OneTransaction.new(call: :seek) if attempt.requested&.first == :seek

          last&.next
        end
      end

      # The work item's batch is done without a handler: filtered, or dead-lettered. (If the
      # database is behind, the partition's next batch goes back, and they come once more.)
      def advance(item)
        partition, offset = item.partition, item.last_offset + 1
        return if partition.database_offset && partition.database_offset >= offset

        transaction(partition, item.slice.first_offset) do |position|
          [position, offset].max unless behind?(item, position)
        end
      end

      # Returns the partition's next offset.
      def position(item)
        partition, first_offset = item.partition, item.slice.first_offset
        found = nil
        transaction(partition, first_offset) do |position|
          found = position
          nil
        end
        partition.database_offset = found if found >= first_offset
        found
      end

      # What Batch#mark calls.
      def mark(_offset) = raise(OneTransaction.new(call: :mark))

      def inspect = "#<Skep::Kafka::DatabaseOffsets of #{@group}>"

      private

      # Yields the partition's next offset in a transaction, and commits the offset that the block
      # returns with what the block has written; nil rolls all of it back. Raises what the block
      # raises, and OffsetsFailed if the database fails otherwise.
      def transaction(partition, first_offset, &block)
        raised = done = position = nil
        record.transaction do
          position = lock(partition, first_offset)
          done = run(position, block) { |error| raised = error }
          advance_row(partition, done) if done && done > position
          raise ::ActiveRecord::Rollback unless done
        end
        raise RolledBack if raised

        partition.database_offset = [done, position].max if done
      rescue ::ActiveRecord::ActiveRecordError => e
        raise if e.equal?(raised)

        failed(e)
      end

      # Returns true if the batch begins after the database's offset, and that isn't the one known
      # of this assignment: the database was restored from a backup, or lost its last transactions
      # (a failover). Before the first batch there may also be no messages in between.
      def behind?(item, position)
        known = item.partition.database_offset
        position < item.slice.first_offset && (known.nil? || position < known)
      end

      # The partition continues at the database's offset.
      def go_back(item, attempt, position)
        item.partition.database_offset = position
        item.partition.left_offset = item.slice.first_offset
        attempt.request(:seek, position)
        nil # nothing is done
      end

      # Reports the partition's way back once there is a message there: the offsets may also be
      # those of transaction markers, or of messages that compaction has removed.
      def report_behind(item)
        before = item.partition.left_offset or return
        item.partition.left_offset = nil
        return if item.slice.first_offset >= before

        topic, partition = item.partition.key
        @report.event(:kafka_database_offset_behind, topic:, partition:, before:,
                                                     offset: item.partition.database_offset)
      end

      def leave_out_done(attempt, position)
        slice = attempt.slice
        return if slice.size.zero? || position <= slice.first_offset

        attempt.narrow(slice.messages.select { |message| message.offset >= position })
      end

      def record = DatabaseOffsets.__record

      def run(position, block)
        block.call(position)
      rescue Exception => e # ActiveRecord::Rollback, too, which `transaction` hides
        yield e
        raise
      end

      # Returns the partition's next offset, and locks its row until the transaction's end.
      def lock(partition, first_offset)
        row = rows(partition).lock(LOCK)
        columns = ["next_offset", *(ORIGIN if names_topic?)]
        position, *origin = *row.pick(*columns)
        unless position
          insert(partition, first_offset)
          position, *origin = *row.pick(*columns)
        end
        return position unless of_former_topic?(partition, origin) ||
                               beyond_end?(partition, position, first_offset)

        @report.event(:kafka_database_offset_reset, level: :error, topic: partition.topic,
                                                    partition: partition.number,
                                                    offset: position, to: first_offset)
        advance_row(partition, first_offset)
        first_offset
      end

      def insert(partition, offset)
        row = { **key(partition), **origin(partition), next_offset: offset,
                                  updated_at: Arel.sql(NOW) }
        record.insert(row, returning: false) # nothing if another process was faster
      end

      def rows(partition) = record.where(key(partition))

      def key(partition)
        { consumer_group: @group, topic: partition.topic, partition: partition.number }
      end

      # A table that was created before these columns were added doesn't have them.
      def names_topic? = (ORIGIN - record.column_names).empty?

      def origin(partition)
        return {} unless partition.origin && names_topic?

        { cluster_id: partition.origin.cluster, topic_id: partition.origin.topic_id }
      end

      # The offset of a topic that had this name before. The topic's id is asked for again first: a
      # broker may learn of a new topic later than others.
      def of_former_topic?(partition, row)
        now = partition.origin
        former = Processing::OffsetOrigin.new(*row)
        return false unless now && former.all?(String) && former.superseded_by?(now)

        ids = Consumer::TopicRecreation.ids_of(@consumer, [partition.topic], END_SECONDS)
        return true if ids.to_h[partition.topic] == now.topic_id

        raise OffsetsFailed.new(cause: "the topic's id isn't known for certain")
      end

      # Without ids: a next offset beyond the partition's end is that of another topic of this name,
      # which was deleted. librdkafka's end is as of its last fetch: it is asked for again first.
      def beyond_end?(partition, position, first_offset)
        return false if position <= first_offset

        key = partition.key
        known = @consumer.end_of(*key)
        return false if known && known >= position

        ends = @consumer.ends([key], END_SECONDS)
        raise OffsetsFailed.new(cause: "the partition's end isn't known") unless ends

        ends[key] ? ends[key] < position : false
      end

      def advance_row(partition, offset)
        rows(partition).update_all(next_offset: offset, leader_epoch: partition.epoch(offset),
                                   **origin(partition), updated_at: Arel.sql(NOW))
      end

      # The next attempt begins with a connection that is checked.
      def failed(error)
        record.release_connection
        raise OffsetsFailed.new(cause: error)
      end
    end
  end
end
