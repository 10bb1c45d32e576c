# frozen_string_literal: true

# A librdkafka event queue, with an IO that becomes readable when an event arrives in the empty
# queue.
#
#   queue = EventQueue.new(Bindings.queue_new(handle))
#   node.wait_for([queue.io], 5.0)
#   queue.drain { |event| … }      # yields every queued event; never waits
#   queue.drain { |event| assign(event.list) if event.kind == :rebalance }
#
# Drain the queue before each wait: events that are already queued don't make the IO readable again.
module Skep
  module Kafka
    module Librdkafka
      class EventQueue
        # An rd_kafka_event_t. Valid only inside the block that receives it.
        class Event
          KINDS = { 0x1 => :delivery, 0x4 => :log, 0x8 => :error, 0x10 => :rebalance,
                    0x20 => :commit, 0x40 => :stats, 0x100 => :token_refresh, 100 => :created,
                    101 => :deleted, 105 => :records_deleted, 0x8000 => :offsets,
                    0x4000 => :groups, 0x100000 => :topics, 0x400000 => :ends }.freeze
          ALL = 0x1 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40
          TOKEN_REFRESH = 0x100
          REPORTS = 256 # delivery reports per call
          private_constant :KINDS, :REPORTS

          # Where a delivery report's fields lie in its message.
          def self.report_offsets
            @report_offsets ||= %i[err partition offset _private].map do |field|
              Bindings::Structs::Message.offset_of(field)
            end
          end

          attr_reader :pointer

          def initialize(pointer) = @pointer = pointer

          def kind = KINDS[Bindings.event_type(pointer)]
          def code = Bindings.event_error(pointer)
          def name = Bindings.err2name(code)
          def text = Bindings.event_error_string(pointer) || Bindings.err2str(code)
          # Returns true if the user's callable has returned no token (OAuthLogin).
          def no_token? = text.start_with?(OAuthLogin::FAILED)

          def fatal? = !Bindings.event_error_is_fatal(pointer).zero?

          # Returns the level (syslog's, 0 to 7), facility and text of a log line.
          def log
            facility, text = Array.new(2) { FFI::MemoryPointer.new(:pointer) }
            level = FFI::MemoryPointer.new(:int)
            Bindings.event_log(pointer, facility, text, level)
            [level.read_int, Bindings.text(facility.read_pointer), Bindings.text(text.read_pointer)]
          end

          # Returns librdkafka's statistics, as JSON.
          def statistics = Bindings.event_stats(pointer)

          # Returns the partitions of a rebalance or commit. The event owns the list.
          def list = TopicPartitionList.new(Bindings.event_topic_partition_list(pointer))

          # Returns the delivery reports, each as [error code (0: delivered), partition, offset,
          # opaque].
          def deliveries
            found = []
            messages = FFI::MemoryPointer.new(:pointer, REPORTS)
            until (count = Bindings.event_message_array(pointer, messages, REPORTS)).zero?
              messages.read_array_of_pointer(count).each { |message| found << report(message) }
            end
            found
          end

          def destroy = Bindings.event_destroy(pointer)

          private

          # Reads only four fields, without a Struct object: there is a report for each message.
          def report(message)
            err, partition, offset, opaque = Event.report_offsets
            [message.get_int(err), message.get_int32(partition), message.get_int64(offset),
             message.get_uint64(opaque)]
          end
        end

        attr_reader :pointer
        attr_reader :io

        def initialize(pointer)
          @pointer = pointer
          @io, @writer = OS.pipe
          @writer.nonblock = true
          Bindings.queue_io_event_enable(pointer, @writer.fileno, "e", 1)
        end

        # Yields every queued event.
        def drain
          @io.read_nonblock(64, exception: false)
          until (found = Bindings.queue_poll(pointer, 0)).null?
            use(Event.new(found)) { |event| yield event }
          end
        end

        # Waits up to `seconds` for one event and returns what the block returns for it; nil if none
        # arrives.
        def wait(seconds)
          found = Bindings.queue_wait(pointer, (seconds * 1000).ceil)
          use(Event.new(found)) { |event| yield event } unless found.null?
        end

        def close
          Bindings.queue_io_event_enable(pointer, -1, nil, 0)
          Bindings.queue_destroy(pointer)
          [@io, @writer].each(&:close)
        end

        private

        def use(event)
          yield event
        ensure
          event.destroy
        end
      end
    end
  end
end
