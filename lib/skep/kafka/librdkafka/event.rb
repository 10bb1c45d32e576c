# frozen_string_literal: true

# One thing librdkafka has to say, read from an EventQueue. Valid only inside the block that
# receives it.
#
#   queue.drain { |event| reassign(event.partitions) if event.kind == :rebalance }
module Skep
  module Kafka
    module Librdkafka
      class Event
        KINDS = { 0x1 => :delivery, 0x4 => :log, 0x8 => :error, 0x10 => :rebalance, 0x20 => :commit,
                  0x40 => :stats, 100 => :created, 101 => :deleted, 0x8000 => :offsets,
                  0x4000 => :groups, 0x100000 => :topics, 0x400000 => :ends }.freeze
        ALL = 0x1 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40
        REPORTS = 256 # delivery reports to take at once
        # rd_kafka_message_t: err, partition, offset, _private
        REPORT = "lx12lx36qQ"
        REPORT_BYTES = 72
        private_constant :KINDS, :REPORTS, :REPORT, :REPORT_BYTES

        attr_reader :pointer

        def initialize(pointer) = @pointer = pointer #: (FFI::Pointer) -> void

        def kind = KINDS[Bindings.event_type(pointer)] #: () -> Symbol?
        def code = Bindings.event_error(pointer) #: () -> Integer
        def name = Bindings.err2name(code) #: () -> String
        def text = Bindings.event_error_string(pointer) || Bindings.err2str(code) #: () -> String
        def fatal? = !Bindings.event_error_is_fatal(pointer).zero? #: () -> bool

        # The level (syslog's, 0 to 7), facility and text of a log line.
        def log #: () -> [Integer, String?, String?]
          facility, text, level = Array.new(3) { FFI::MemoryPointer.new(:uint64) }
          Bindings.event_log(pointer, facility, text, level)
          [level.read_int, Bindings.text(facility.read_uint64), Bindings.text(text.read_uint64)]
        end

        # The list a rebalance or commit is about; owned by the event.
        #: () -> TopicPartitionList
        def list = TopicPartitionList.new(Bindings.event_topic_partition_list(pointer))

        # The delivery reports in it, each [error code (0 is delivered), partition, offset, tag].
        def deliveries #: () -> Array[[Integer, Integer, Integer, Integer]]
          found = []
          until (count = Bindings.event_message_array(pointer, messages, REPORTS)).zero?
            messages.read_array_of_uint64(count).each do |address|
              code, partition, offset, tag = Bindings.bytes(address, REPORT_BYTES).unpack(REPORT)
              found << [code, partition, offset, tag]
            end
          end
          found
        end

        def destroy = Bindings.event_destroy(pointer) #: () -> void

        private

        def messages = @messages ||= FFI::MemoryPointer.new(:uint64, REPORTS)
      end
    end
  end
end
