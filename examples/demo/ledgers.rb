# frozen_string_literal: true

# Counts finished messages, only from the ledgers that the nodes write.
#
#   ledgers = Ledgers.new(folder, messages: 200_000)
#   ledgers.read           # => how many records were new
#   ledgers.processed      # => how many different messages are done
#   ledgers.duplicates     # => how many were done again
#
# A ledger is the file of one process, NODE-PID.ledger, with a record of 16 bytes for each message:
# id, partition, offset. The node appends it by one write(2) after the handler's work. After a
# kill a record is missing or complete, since none crosses a page's border. An incomplete one isn't
# counted.
module Skep
  module Demo
    class Ledgers
      RECORD = "LLQ"
      BYTES = 16
      private_constant :RECORD, :BYTES

      attr_reader :processed, :duplicates

      def initialize(folder, messages:)
        @folder = folder
        @seen = "\0".b * messages
        @offsets = Hash.new(0)
        @processed = @duplicates = 0
      end

      def read = Dir.glob("#{@folder}/*.ledger").sum { |path| read_from(path) }

      private

      def read_from(path)
        whole = File.size(path) / BYTES * BYTES
        count = (whole - @offsets[path]) / BYTES
        return 0 if count.zero?

        bytes = File.binread(path, count * BYTES, @offsets[path])
        @offsets[path] = whole
        bytes.unpack(RECORD * count).each_slice(3) { |id, _partition, _offset| tick(id) }
        count
      end

      def tick(id)
        return @duplicates += 1 unless @seen.getbyte(id)&.zero?

        @seen.setbyte(id, 1)
        @processed += 1
      end
    end
  end
end
