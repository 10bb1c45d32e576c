# frozen_string_literal: true

# Lets a partition go on somewhere else, and commits that: a node that dies meanwhile is succeeded
# by one that begins there.
#
#   seeker = Seeker.new(consumer, report)
#   seeker.call("orders", 3, :beginning)       # => 0, the offset at which it goes on
#   seeker.call("orders", 3, Time.now - 3600)  # an Integer and :end, too
#
# Waits for the broker; raises CallFailed where that doesn't answer.
module Skep
  module Kafka
    class Seeker
      SECONDS = 5.0
      MILLISECONDS = (SECONDS * 1000).to_i
      private_constant :SECONDS, :MILLISECONDS

      def initialize(consumer, report) #: (Consumer, Report) -> void
        @consumer = consumer
        @report = report
      end

      #: (String, Integer, Integer | Symbol | Time) -> Integer
      def call(topic, number, place)
        offset = place.is_a?(Integer) ? place : find(topic, number, place)
        PartitionList.make([[topic, number, offset]]) do |list|
          refused(Native.seek_partitions(@consumer.handle, list.pointer, MILLISECONDS))
          check(list.to_a.first.last)
        end
        @consumer.store(topic, number, offset) # or what was stored before would be committed again
        @consumer.commit([[topic, number, offset]], SECONDS)
        @report.tell(:kafka_seek, topic:, partition: number, to: place.to_s, offset:)
        offset
      end

      private

      def find(topic, number, place)
        bounds = place.is_a?(Time) ? nil : bounds(topic, number)
        return bounds.fetch(place == :beginning ? 0 : 1) if bounds

        at_time(topic, number, place) || bounds(topic, number).last
      end

      # nil where nothing is as young.
      def at_time(topic, number, time)
        PartitionList.make([[topic, number, (time.to_r * 1000).to_i]]) do |list|
          check(Native.offsets_for_times(@consumer.handle, list.pointer, MILLISECONDS))
          _, _, offset, code = list.to_a.first
          check(code)
          offset unless offset.negative?
        end
      end

      # Of the lowest message there is, and of the next that will be.
      def bounds(topic, number)
        room = Array.new(2) { FFI::MemoryPointer.new(:int64) }
        check(Native.query_watermark_offsets(@consumer.handle, topic, number, *room, MILLISECONDS))
        room.map(&:read_int64)
      end

      def refused(error)
        return if error.null?

        code = Native.error_code(error)
        Native.error_destroy(error)
        check(code)
      end

      def check(code)
        raise CallFailed.new(call: "a seek", text: Native.err2str(code)) unless code.zero?
      end
    end
    private_constant :Seeker
  end
end
