# frozen_string_literal: true

# A partition's reader that lets nothing pass which would skip messages unseen: librdkafka tells of
# what can't be read (a wrong checksum, an unknown compression) and goes on behind it.
#
#   intake = Intake.new(Reader.new(queue, "orders", 3, 500), "orders", 3)
#   haul, errors, count = intake.read(500)   # what came before such a place; then nothing …
#   intake.resume { |offset| … }             # … until it has been sought there
#   intake.anew { … }                        # or elsewhere
#
# What it finds it tells its Gaps, if it has them.
module Skep
  module Kafka
    class Intake
      NONE = [Haul.new([]), [].freeze].freeze
      private_constant :NONE

      attr_reader :key #: [String, Integer], topic and partition
      attr_accessor :gaps #: Gaps?
      attr_accessor :lost_from #: Integer?, the first that may be missing before the next one

      def initialize(reader, topic, number) #: (Reader, String, Integer) -> void
        @reader = reader
        @key = [topic, number]
        @lock = Mutex.new
      end

      #: (Integer) -> [Haul, Array[[Integer, String, Integer]], Integer]
      def read(limit)
        @lock.synchronize do
          haul, errors, count = @reader.read(limit)
          next [*NONE, count] if @stuck

          haul, errors = sift(haul, errors) if @gaps && errors.any?
          note(haul) unless haul.empty?
          [haul, errors, count]
        end
      end

      # Yields where it is stuck, so that it is read from there again.
      def resume #: () { (Integer) -> void } -> void
        @lock.synchronize do
          next unless @stuck

          yield @stuck
          @mended, @stuck = @stuck, nil
        end
      end

      # For a seek to somewhere else: where it was stuck, or what it missed, is no matter any more.
      #: () { () -> untyped } -> untyped
      def anew
        @lock.synchronize { yield.tap { @stuck = @mended = @lost_from = nil } }
      end

      def close = @reader.close #: () -> void
      def inspect = "#<Skep::Kafka::Intake #{key.join("/")}>" #: () -> String

      private

      def sift(haul, errors)
        bad, others = errors.partition { |code, _| Codes::UNREADABLE.include?(code) }
        return [haul, errors] if bad.empty?

        code, text, @stuck = bad.first
        @gaps.stuck(self, @stuck, code, text)
        [Haul.new(haul.take_while { |message| message.offset < @stuck }), others]
      end

      def note(haul)
        @gaps&.readable(self, @mended) if @mended
        @mended = nil
        miss(haul) if @lost_from && haul.last_offset >= @lost_from
      end

      # What was fetched before may still come.
      def miss(haul)
        first = haul.find { |message| message.offset >= @lost_from }
        @gaps&.passed(self, @lost_from, first.offset)
        @lost_from = nil
      end
    end
    private_constant :Intake
  end
end
