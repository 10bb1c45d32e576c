# frozen_string_literal: true

# Counts what handlers have finished, from the ledgers that the nodes write and from nothing else.
#
#   account = Account.new(folder, messages: 200_000)
#   account.read           # => how many records were new
#   account.processed      # => how many different messages are done
#   account.duplicates     # => how many were done again
#   account.of(3)          # => how many records node 3 has written, in all its lives
#
# A ledger is a file of one process, NODE-PID.ledger, of records of 16 bytes: message id, partition,
# offset. Each was appended by one write(2) after the handler's work for that message. A record
# never crosses a page's border, so that a kill leaves it out or leaves it whole; what is not whole
# isn't counted.
module Skep
  module CLI
    class Demo
      class Account
        RECORD = "LLQ"
        BYTES = 16
        private_constant :RECORD, :BYTES

        attr_reader :processed #: Integer
        attr_reader :records #: Integer

        def initialize(folder, messages:) #: (String, messages: Integer) -> void
          @folder = folder
          @seen = "\0".b * messages
          @read = Hash.new(0)
          @by_node = Hash.new(0)
          @processed = @records = 0
        end

        # Reads what has been written since the last time. How many records were new.
        def read #: () -> Integer
          before = records
          Dir.children(@folder).grep(/\A\d+-\d+\.ledger\z/).each { |name| read_on(name) }
          records - before
        end

        def duplicates = records - processed #: () -> Integer
        def of(node) = @by_node[node] #: (Integer) -> Integer

        private

        def read_on(name)
          path = File.join(@folder, name)
          whole = File.size(path) / BYTES * BYTES
          return unless whole > @read[name]

          bytes = File.binread(path, whole - @read[name], @read[name])
          @read[name] = whole
          count = bytes.bytesize / BYTES
          @by_node[name.to_i] += count
          bytes.unpack(RECORD * count).each_slice(3) { |id, _partition, _offset| tick(id) }
        end

        def tick(id)
          @records += 1
          return unless id < @seen.bytesize && @seen.getbyte(id).zero?

          @seen.setbyte(id, 1)
          @processed += 1
        end
      end
      private_constant :Account
    end
  end
end
