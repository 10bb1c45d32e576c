# frozen_string_literal: true

# What a consumer can find out about offsets. Partitions are [topic, number]; those that have none
# are left out of the answer. What asks the brokers waits so many seconds at most, and asks each of
# them once, however many partitions; nil: there was no answer.
#
#   consumer.end_of("orders", 3)      # => 1234, as of the last fetch; nil if there was none
#   consumer.ends([["orders", 3]], 2.0)        # => { ["orders", 3] => 1250 }, asks
#   consumer.committed([["orders", 3]], 2.0)   # the group's, asks
#   consumer.committed_epochs([["orders", 3]], 2.0)   # => { ["orders", 3] => [42, 7] }, the same
#                                              # with leader epochs, which may be nil
#   consumer.starts([["orders", 3]], 2.0)      # where who has committed nothing begins, asks
#   consumer.find(["orders", 3], :beginning, 2.0)   # => 17; or :end, or a Time; asks, and raises
#                                              # LibrdkafkaError without an answer
module Skep
  module Kafka
    module Librdkafka
      module OffsetQueries
        BEGINNING, END_ = -2, -1 # RD_KAFKA_OFFSET_BEGINNING, RD_KAFKA_OFFSET_END
        RESETS = { "earliest" => BEGINNING, "smallest" => BEGINNING, "beginning" => BEGINNING,
                   "latest" => END_, "largest" => END_, "end" => END_ }.freeze
        PLACES = { beginning: BEGINNING, end: END_ }.freeze
        private_constant :BEGINNING, :END_, :RESETS, :PLACES

        def end_of(topic, number) #: (String, Integer) -> Integer?
          words = FFI::MemoryPointer.new(:int64, 2)
          Bindings.get_watermark_offsets(handle, topic, number, words, words + 8)
          words.get_int64(8).then { |offset| offset unless offset.negative? }
        end

        #: (Array[[String, Integer]], Numeric) -> Hash[[String, Integer], Integer]?
        def ends(keys, seconds) = look_up(:offsets_for_times, keys, END_, seconds)

        #: (Array[[String, Integer]], Numeric) -> Hash[[String, Integer], Integer]?
        def committed(keys, seconds) = look_up(:committed, keys, nil, seconds)

        #: (Array[[String, Integer]], Numeric) -> Hash[[String, Integer], [Integer, Integer?]]?
        def committed_epochs(keys, seconds)
          TopicPartitionList.make(keys) do |list|
            next unless Bindings.committed(handle, list.pointer, (seconds * 1000).to_i).zero?

            found = list.to_a.zip(list.epochs)
            found.select! { |(_, _, offset, code), _| code.zero? && offset >= 0 }
            found.to_h { |(topic, number, offset, _), epoch| [[topic, number], [offset, epoch]] }
          end
        end

        #: (Array[[String, Integer]], Numeric) -> Hash[[String, Integer], Integer]?
        def starts(keys, seconds)
          where = RESETS[@reset] or return {}
          look_up(:offsets_for_times, keys, where, seconds)
        end

        # Of a Time: its first message of then or later; the end where there is none.
        #: ([String, Integer], Symbol | Time, Numeric) -> Integer
        def find(key, place, seconds)
          where = PLACES.fetch(place) { (place.to_r * 1000).to_i }
          offset = TopicPartitionList.make([[*key, where]]) do |list|
            check(Bindings.offsets_for_times(handle, list.pointer, (seconds * 1000).to_i), SEARCH)
            list.to_a.first.then { |_, _, found, code| check(code, SEARCH) || found }
          end
          offset.negative? && place != :end ? find(key, :end, seconds) : offset
        end

        SEARCH = "the search for an offset"
        private_constant :SEARCH

        private

        def look_up(function, keys, where, seconds)
          TopicPartitionList.make(keys.map { |key| [*key, where] }) do |list|
            code = Bindings.public_send(function, handle, list.pointer, (seconds * 1000).to_i)
            next unless code.zero?

            found = list.to_a.select { |_, _, offset, code| code.zero? && offset >= 0 }
            found.to_h { |topic, number, offset, _| [[topic, number], offset] }
          end
        end
      end
    end
  end
end
