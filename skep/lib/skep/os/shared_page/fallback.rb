# frozen_string_literal: true

require "tempfile"

module Skep
  module OS
    class SharedPage
      # The page as an unlinked file, in /dev/shm if there is one. Its limits:
      #
      # - each access takes one or two system calls, about a microsecond;
      # - add isn't atomic between processes, only between threads: one writer for each word;
      # - POSIX doesn't promise that a word is read whole; the known kernels copy eight aligned
      #   bytes at once.
      module Fallback
        MASK = (1 << 64) - 1
        private_constant :MASK

        # Records the time: the cell's writer has made progress.
        def beat(cell)
          set(cell, BEAT, Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond))
        end

        def get(cell, word) = fetch(place(cell, word))

        # Negative numbers wrap to 64 bits.
        def set(cell, word, integer)
          store(writable(cell, word), integer)
        end

        # Sets the word and beats.
        def mark(cell, word, integer)
          set(cell, word, integer)
          beat(cell)
        end

        # Returns the sum.
        def add(cell, word, integer)
          place = writable(cell, word)
          @mutex.synchronize do
            store(place, fetch(place) + integer)
            fetch(place)
          end
        end

        # Publishes a blob. Raises ArgumentError for more than BLOB bytes.
        def write(cell, string)
          bytes = string.b
          if bytes.size > BLOB
            raise ArgumentError, "a blob has #{BLOB} bytes at most, not #{bytes.size}"
          end

          publish(place(cell, 0), [bytes.size].pack("S") + bytes)
        end

        # Returns the last complete blob, as UTF-8; nil before the first and after #clear.
        def read(cell)
          place = place(cell, 0)
          TRIES.times do
            sequence = fetch(place)
            return if sequence.zero?

            length, bytes = @io.pread(BLOB + 2, buffer(place, sequence)).unpack("Sa*")
            next unless fetch(place) == sequence

            return length > BLOB ? nil : bytes.byteslice(0, length).force_encoding(Encoding::UTF_8)
          end
          nil # it is written all the time
        end

        # Removes the blob and the beat and zeroes all words but the sequence, for the next writer.
        def clear(cell)
          publish(place(cell, 0), [NONE].pack("S"))
          (1...WORDS).each { |word| set(cell, word, 0) }
          nil
        end

        # Returns the cell's address, for C code that writes there; nil in the fallback.
        def address(_cell) = nil

        private

        def folder = File.writable?("/dev/shm") ? "/dev/shm" : Dir.tmpdir

        def backing(bytes)
          file = nameless
          file.truncate(bytes)
          @io = file
          file.tap { write_at("\0", 0) } # it takes room, so that a full folder is found here
        rescue PageFolderFull
          file.close
          raise
        end

        # Not interruptible: an exception from another thread (Timeout) would leave the file's name.
        def nameless
          Thread.handle_interrupt(Object => :never) do
            file = Tempfile.create("skep", folder)
            file.tap { File.unlink(file.path) }
          end
        end

        def attach
          @mutex = Mutex.new
        end

        def release; end

        def place(cell, word)
          closed! if @io.closed?
          raise IndexError, "no cell #{cell} among #{cells}" unless (0...cells).cover?(cell)
          raise IndexError, "no word #{word} among #{WORDS}" unless (0...WORDS).cover?(word)

          (cell * CELL) + (word * 8)
        end

        def writable(cell, word)
          raise IndexError, "word 0 is the sequence, which only write and clear move" if word.zero?

          place(cell, word)
        end

        def fetch(place) = @io.pread(8, place).unpack1("Q")

        def store(place, integer)
          write_at([integer & MASK].pack("Q"), place)
          nil
        end

        def publish(place, bytes)
          @mutex.synchronize do
            sequence = fetch(place) + 1
            write_at(bytes, buffer(place, sequence))
            store(place, sequence)
          end
        end

        # The file takes room only where it was written to.
        def write_at(bytes, place)
          @io.pwrite(bytes, place)
        rescue Errno::ENOSPC
          raise PageFolderFull, "#{folder} is full: it holds the memory that processes share"
        end

        def buffer(place, sequence) = place + 128 + ((sequence % 2) * (BLOB + 2))
      end
      private_constant :Fallback
    end
  end
end
