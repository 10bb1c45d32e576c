# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # One partition's messages, read like a Librdkafka::PartitionQueue.
      class FakeLog
        def initialize(messages) #: (Array[Message]) -> void
          @all = messages.sort_by(&:offset)
          @next = 0
        end

        def read(limit)
          some = @all[@next, limit]
          @next += some.size
          [Librdkafka::MessageSet.new(some), [], some.size]
        end

        # Moves to the place that Batch#seek was given; returns its offset.
        def seek(place)
          @next = at(place)
          @next < @all.size ? @all[@next].offset : self.end
        end

        def end = @all.last.offset + 1 #: () -> Integer
        def notify(_wakeup_pipe, _number) = nil
        def position = nil
        def leader_epoch = nil
        def low_watermark = nil
        def behind? = @next < @all.size #: () -> bool
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
    end
  end
end
