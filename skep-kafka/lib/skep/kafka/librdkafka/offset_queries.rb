# frozen_string_literal: true

# A consumer's queries for offsets. Partitions are [topic, number]; a Hash leaves out partitions for
# which an error was answered, and of `ends` and `starts` those without an offset. All but `end_of`
# send requests to the brokers, one to each broker, and wait up to the given seconds; without a
# response they return nil.
#
#   consumer.end_of("orders", 3)       # => 1234, the high watermark as of the last fetch; nil
#   consumer.ends(keys, 2.0)           # => { ["orders", 3] => 1250 }, the high watermarks
#   consumer.beginnings(keys, 2.0)     # the offsets of the first messages
#   consumer.committed(keys, 2.0)      # the group's committed offsets; nil: it has none
#   consumer.committed_with_metadata(keys, 2.0)   # => { ["orders", 3] => [42, 7, "…"] }, the
#                                      # same with leader epoch and metadata, or nil for them
#   consumer.starts(keys, 2.0)         # where a group without a committed offset starts
#   consumer.find(["orders", 3], :beginning, 2.0)   # => 17; or :end, or a Time; raises
#                                                   # LibrdkafkaError without a response
module Skep
  module Kafka
    module Librdkafka
      module OffsetQueries
        BEGINNING, END_ = -2, -1 # RD_KAFKA_OFFSET_BEGINNING, RD_KAFKA_OFFSET_END
        RESETS = { "earliest" => BEGINNING, "smallest" => BEGINNING, "beginning" => BEGINNING,
                   "latest" => END_, "largest" => END_, "end" => END_ }.freeze
        PLACES = { beginning: BEGINNING, end: END_ }.freeze
        private_constant :BEGINNING, :END_, :RESETS, :PLACES

        def end_of(topic, number)
          words = FFI::MemoryPointer.new(:int64, 2)
          Bindings.get_watermark_offsets(handle, topic, number, words, words + 8)
          words.get_int64(8).then { |offset| offset unless offset.negative? }
        end

        def ends(keys, seconds) = look_up(keys, END_, seconds)
        def beginnings(keys, seconds) = look_up(keys, BEGINNING, seconds)

        def committed(keys, seconds)
          committed_with_metadata(keys, seconds)&.transform_values { |entry| entry&.first }
        end

        def committed_with_metadata(keys, seconds)
          TopicPartitionList.make(keys) do |list|
            next unless Bindings.committed(handle, list.pointer, (seconds * 1000).to_i).zero?

            found = list.to_a.zip(list.epochs, list.metadata)
            found.select! { |(_, _, _, code), *| code.zero? }
            found.to_h do |(topic, number, offset, _), *others|
              [[topic, number], ([offset, *others] unless offset.negative?)]
            end
          end
        end

        def starts(keys, seconds)
          where = RESETS[@reset] or return {}
          look_up(keys, where, seconds)
        end

        # Returns the offset of a place. A Time is the first message of then or later, or the end if
        # there is none. Brokers search for no time before 1970: negative numbers are other places.
        def find(key, place, seconds)
          where = PLACES.fetch(place) { (place.to_r * 1000).ceil }
          where = BEGINNING if place.is_a?(Time) && where.negative?
          offset = TopicPartitionList.make([[*key, where]]) do |list|
            check(Bindings.offsets_for_times(handle, list.pointer, (seconds * 1000).to_i), SEARCH)
            list.to_a.first.then { |_, _, found, code| check(code, SEARCH) || found }
          end
          offset.negative? && place != :end ? find(key, :end, seconds) : offset
        end

        SEARCH = "the search for an offset"
        private_constant :SEARCH

        private

        def look_up(keys, where, seconds)
          TopicPartitionList.make(keys.map { |key| [*key, where] }) do |list|
            code = Bindings.offsets_for_times(handle, list.pointer, (seconds * 1000).to_i)
            next unless code.zero?

            found = list.to_a.select { |_, _, offset, code| code.zero? && offset >= 0 }
            found.to_h { |topic, number, offset, _| [[topic, number], offset] }
          end
        end
      end
    end
  end
end
