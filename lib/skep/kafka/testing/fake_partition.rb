# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # A partition whose messages lie on a shelf instead of in librdkafka.
      class FakePartition < Processing::AssignedPartition
        # Messages in order, read as a Librdkafka::PartitionQueue reads them.
        class Shelf
          def initialize(messages) #: (Array[Message]) -> void
            @all = messages.sort_by(&:offset)
            @next = 0
          end

          def read(limit)
            some = @all[@next, limit]
            @next += some.size
            [Librdkafka::MessageSet.new(some), [], some.size]
          end

          # From there on, as Batch#seek has it; the offset.
          def seek(place)
            @next = at(place)
            @next < @all.size ? @all[@next].offset : self.end
          end

          def end = @all.last.offset + 1 #: () -> Integer
          def close = nil
          def inspect = "#<Skep::Kafka::Testing::FakeLog messages=#{@all.size}>"

          private

          def at(place)
            case place
            when :beginning then 0
            when :end then @all.size
            when Time then @all.index { |one| (one.timestamp || place) >= place } || @all.size
            else @all.index { |one| one.offset >= place } || @all.size
            end
          end
        end

        def close = @queue = nil

        private

        def open_queue(_limit) = @queue
        def listen = nil
      end
    end
  end
end
