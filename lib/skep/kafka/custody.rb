# frozen_string_literal: true

# Partitions as they come to this node and go: to the desk and back, with what is done of them
# committed before they go. For the keeper's thread, and at the end whoever closes the client.
#
#   custody = Custody.new(tools, gaps)
#   custody.take(list)            # assigned to us
#   custody.give_up(list)         # to be others'; or lost already
#   custody.give_up_all(list)     # at the client's end
#   custody.drop                  # before we leave for good, with something in hand
#   custody.lose                  # librdkafka has given up
#   custody.begin_again(topics)   # those were deleted and made again
#   custody.commit_settled        # what is done, once the group has settled; the block serves it
#   custody.joined?               # has it ever had any?
#   custody.away?                 # has it lost what it had, and got nothing since?
module Skep
  module Kafka
    class Custody
      FINISH_SECONDS = 5.0 # how long a rebalance waits for batches in hand
      COMMIT_SECONDS = 5.0
      REMADE = "deleted and made again: read from its beginning"
      private_constant :FINISH_SECONDS, :COMMIT_SECONDS, :REMADE

      def initialize(tools, gaps) #: (Tools, Gaps) -> void
        @options, @child, @report = tools.options, tools.child, tools.report
        @consumer, @desk, @meter = tools.consumer, tools.desk, tools.meter
        @trails = Trails.new(tools)
        @gaps = gaps
        @serials = 0
      end

      def joined? = @joined ? true : false #: () -> bool
      def away? = @away ? true : false #: () -> bool

      # Each partition's queue is turned to the desk before the assignment, so that no message goes
      # elsewhere.
      def take(list) #: (PartitionList) -> void
        @consumer.fetch_wait&.shorten # a request in flight would keep these waiting
        starts = @trails.starts(list.keys)
        list.begin_at(starts)
        list.keys.each { |key| @desk.add(partition(key, start: starts[key])) }
        @consumer.assign(list)
        starts.each { |key, offset| @consumer.store(*key, offset) }
        @joined = true
        @away = false
        tell("assigned", list.keys)
      end

      def give_up(list) #: (PartitionList) -> void
        @away = lost = @consumer.lost?
        done = @desk.revoke(list.keys, lost ? 0 : FINISH_SECONDS)
        committed(@consumer.commit(done, COMMIT_SECONDS)) unless lost
        @consumer.unassign(list)
        tell(lost ? "lost" : "revoked", list.keys)
      end

      def give_up_all(list) #: (PartitionList) -> void
        held = @desk.keys
        @desk.revoke(held, 0)
        @consumer.unassign(list)
        tell("revoked", held)
      end

      # At once, whatever is in hand: what is done is committed, and no more of it will be.
      def drop #: () -> void
        committed(@consumer.commit(@desk.revoke(@desk.keys, 0), COMMIT_SECONDS))
      end

      # Nothing more will be committed.
      def lose #: () -> void
        lost = @desk.keys
        @desk.revoke(lost, 0)
        tell("lost", lost) if lost.any?
      end

      # What was done of those of before counts for nothing.
      def begin_again(topics) #: (Array[String]) -> void
        keys = @desk.keys.select { |topic, _| topics.include?(topic) }
        return if keys.empty?

        @desk.revoke(keys, FINISH_SECONDS)
        keys.each { |key| @trails.begin_anew(key) }
        @meter.begin_again(keys)
        keys.each { |key| @desk.add(partition(key).tap { |partition| partition.seek(0) }) }
        @report.tell(:kafka_topic_remade, level: :error, partitions: PartitionList.by_topic(keys),
                                          note: REMADE)
      end

      # While the group changes nothing can be committed: the block is to serve it for so many
      # seconds, until it has settled. The error code at last.
      def commit_settled #: () { (Float) -> void } -> Integer
        deadline = OS.now + COMMIT_SECONDS
        code = @consumer.commit(@desk.certain, COMMIT_SECONDS)
        while Codes::REBALANCING.include?(code) && (left = deadline - OS.now).positive?
          yield left
          code = @consumer.commit(@desk.certain, COMMIT_SECONDS)
        end
        code
      end

      # Tells what kept a commit from being one. Was it one?
      def committed(code) #: (Integer) -> bool
        return code.zero? if [0, Codes::NO_OFFSET].include?(code)

        @report.problem(Native.err2name(code), Native.err2str(code),
                        name: :kafka_commit_failed, level: :warn)
        false
      end

      def inspect = "#<Skep::Kafka::Custody #{@desk.inspect}>" #: () -> String

      private

      def partition(key, start: nil)
        partition = @consumer.partition(
          *key, id: @serials += 1, bell: @desk.bell, order: @options.method(:order),
                seeking: Seeker.new(@consumer, @report), limit: @options.batch,
                max_wait: @options.max_wait, trail: @trails[key], start:
        )
        partition.tap { partition.intake.gaps = @gaps }
      end

      def tell(change, keys)
        held = PartitionList.by_topic(@desk.keys)
        changed = PartitionList.by_topic(keys)
        @meter.rebalanced(keys, @desk.keys)
        @report.tell(:kafka_rebalance, change:, partitions: changed, held:)
        @child.joined!(change == "assigned" || !held.empty?, partitions: held)
      end
    end
    private_constant :Custody
  end
end
