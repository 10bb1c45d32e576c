# frozen_string_literal: true

require "skep/os/shared_page/fallback"

# Memory that processes share, in cells of 1,024 bytes. A cell has one writer. A writer that is
# killed at any moment leaves the last complete blob.
#
#   page = Skep::OS::SharedPage.create(8)        # before the fork; or pass page.to_io to a process:
#   page = Skep::OS::SharedPage.open(io, 8)
#   page.beat(3); page.beat_at(3)                # => seconds of Skep::OS.now
#   page.write(3, "orders/0 42"); page.read(3)   # => "orders/0 42"
#   page.add(3, 2, 1); page.get(3, 2)            # => 1
#   page.mark(3, 6, 42)                          # sets word 6 and beats
#
# A cell, in the machine's byte order:
#
#   bytes   0-127   16 words of 64 bits, unsigned
#                   word 0      sequence: the number of blobs written so far; read-only
#                   word 1      beat: CLOCK_MONOTONIC in nanoseconds
#                   words 2-15  free
#   bytes 128-567   blob buffer 0: 16 bits of length (0xffff: none), 438 bytes
#   bytes 568-1007  blob buffer 1
#
# Blob n is in buffer n % 2. The writer fills the buffer that isn't in use, then publishes n as the
# sequence. The reader copies the buffer and repeats if the sequence has changed. Only the last blob
# can be read. Source: seqlocks, https://docs.kernel.org/locking/seqlock.html
module Skep
  module OS
    class SharedPage
      CELL = 1024
      WORDS = 16
      BLOB = 438
      BEAT = 1
      NONE = 0xffff
      # Tries to read a blob. After so many, the writer must be writing all the time.
      TRIES = 100
      private_constant :NONE, :TRIES

      # Raised by a method of a closed page.
      class Closed < Error
        def initialize(message = "the page is closed: keep it open as long as it is used")
          super
        end
      end

      include Fallback

      def self.create(cells) = new(cells)

      # Maps a page received from another process; the page owns the io.
      # Raises ArgumentError if it is too small for so many cells.
      def self.open(io, cells) = new(cells, io)

      # Returns true if the memory is mapped; the fallback reads and writes a file.
      def self.native? = instance_method(:attach).owner == self

      attr_reader :cells

      def initialize(cells, io = nil)
        @cells = Integer(cells)
        raise ArgumentError, "a page needs a cell at least, not #{@cells}" unless @cells.positive?

        @io = io || backing(@cells * CELL)
        unless @io.stat.size >= @cells * CELL
          raise ArgumentError, "a page of #{@io.stat.size} bytes has no room for #{@cells} cells"
        end

        attach
      end

      # Returns the time of the last #beat in seconds of Skep::OS.now; nil before the first.
      def beat_at(cell)
        nanoseconds = get(cell, BEAT)
        nanoseconds.zero? ? nil : nanoseconds / 1e9
      end

      # Returns the IO, to be sent to another process (UNIXSocket#send_io). Close the page, not it.
      def to_io = @io.closed? ? closed! : @io

      def close
        return if @io.closed?

        release
        @io.close
      end

      def closed? = @io.closed?

      def inspect = "#<#{self.class} cells=#{cells}#{" closed" if closed?}>"

      private

      def closed! = raise(Closed)
    end
  end
end
