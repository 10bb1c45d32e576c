# frozen_string_literal: true

# How far this process has come in each partition, remembered while the partition is away. Who loses
# its partitions (no broker for longer than the session, a process that was stopped, a long batch in
# hand at a rebalance) has often done more than was committed: where they come back here, that
# doesn't come again.
#
#   trails = Trails.new(tools)
#   trails.starts(keys)     # => { ["orders", 3] => 1234 }: to begin there, not at what is committed
#   trails[key]             # => Trail, for the partition's next time here
#
# It begins at the higher one of what is committed, by whomever, and what was done here: all below
# either has been done. Where less is committed than the cluster has taken from this process, or
# nothing any more, somebody has set it back, or the topic is another: then that is where it begins.
module Skep
  module Kafka
    class Trails
      # position: the offset after what this process has done.
      Trail = Struct.new(:position)

      # What a client leaves the next one of its process.
      Past = Struct.new(:trails, :accepted)

      SECONDS = 5.0
      private_constant :SECONDS

      def self.past = Past.new({}, {}) #: () -> Past, where there is none

      def initialize(tools) #: (Tools) -> void
        @consumer, @desk, @report = tools.consumer, tools.desk, tools.report
        # A transaction's offset is committed with it: nothing is ahead of that.
        @ahead = !tools.options.transactional
        @trails = tools.past.trails
      end

      def [](key) = @trails.fetch(key) #: ([String, Integer]) -> Trail

      # For partitions that are about to be this process' (again). Asks the cluster, where that
      # matters; without an answer they begin at what is committed.
      #: (Array[[String, Integer]]) -> Hash[[String, Integer], Integer]
      def starts(keys)
        back = @ahead ? keys.select { |key| ahead?(key) } | @desk.leftover(keys) : []
        committed = back.empty? ? {} : @consumer.committed(back, SECONDS)
        followed = committed ? back.reject { |key| set_back?(key, committed[key]) } : []
        (keys - followed).each { |key| begin_anew(key) }
        follow(followed, committed || {})
      end

      # What was done of it counts for nothing.
      def begin_anew(key) #: ([String, Integer]) -> void
        @trails[key] = Trail.new
        @consumer.accepted.delete(key)
      end

      private

      def ahead?(key)
        position = @trails[key]&.position
        position && position != @consumer.accepted[key]
      end

      def set_back?(key, committed)
        ours = @consumer.accepted[key]
        ours && (committed.nil? || committed < ours)
      end

      def follow(keys, committed)
        starts = keys.to_h { |key| [key, [committed[key], self[key].position].compact.max] }.compact
        ahead = starts.select { |key, offset| offset != committed[key] }
        tell(ahead, committed) if ahead.any?
        @consumer.accepted.update(committed.slice(*keys)) # whoever did it
        starts
      end

      def tell(ahead, committed)
        messages = ahead.sum { |key, offset| offset - (committed[key] || offset) }
        @report.tell(:kafka_resumed, partitions: PartitionList.by_topic(ahead.keys), messages:)
      end
    end
    private_constant :Trails
  end
end
