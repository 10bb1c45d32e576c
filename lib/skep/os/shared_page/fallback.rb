# frozen_string_literal: true

require "tempfile"

module Skep
  module OS
    class SharedPage
      # The page as a file without a name, in memory where there is /dev/shm. What it can't do:
      #
      # - beat in nanoseconds: each access is a system call or two, about a microsecond;
      # - add atomically between processes: one writer a word (threads of one process are safe);
      # - promise that a word is read whole: the kernels at hand copy eight aligned bytes at once.
      module Fallback
        MASK = (1 << 64) - 1
        private_constant :MASK

        # Marks the cell's writer as making progress, now.
        #
        #: (Integer cell) -> nil
        def beat(cell)
          set(cell, BEAT, Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond))
        end

        #: (Integer cell, Integer word) -> Integer
        def get(cell, word) = fetch(place(cell, word))

        # Negative numbers wrap to 64 bits.
        #
        #: (Integer cell, Integer word, Integer) -> nil
        def set(cell, word, integer)
          store(writable(cell, word), integer)
        end

        # The same, and a beat.
        #
        #: (Integer cell, Integer word, Integer) -> nil
        def mark(cell, word, integer)
          set(cell, word, integer)
          beat(cell)
        end

        # Gives the sum.
        #
        #: (Integer cell, Integer word, Integer) -> Integer
        def add(cell, word, integer)
          place = writable(cell, word)
          @mutex.synchronize do
            store(place, fetch(place) + integer)
            fetch(place)
          end
        end

        # At most BLOB bytes; ArgumentError for more.
        #
        #: (Integer cell, String) -> nil
        def write(cell, string)
          bytes = string.b
          if bytes.size > BLOB
            raise ArgumentError, "a blob has #{BLOB} bytes at most, not #{bytes.size}"
          end

          publish(place(cell, 0), [bytes.size].pack("S") + bytes)
        end

        # The last whole blob, as UTF-8; nil before the first and after #clear.
        #
        #: (Integer cell) -> String?
        def read(cell)
          place = place(cell, 0)
          Kernel.loop do
            sequence = fetch(place)
            return if sequence.zero?

            length, bytes = @io.pread(BLOB + 2, buffer(place, sequence)).unpack("Sa*")
            next unless fetch(place) == sequence

            return length > BLOB ? nil : bytes.byteslice(0, length).force_encoding(Encoding::UTF_8)
          end
        end

        # No blob, no beat, words 2 to 7 zero: for the cell's next writer.
        #
        #: (Integer cell) -> nil
        def clear(cell)
          publish(place(cell, 0), [NONE].pack("S"))
          (1...WORDS).each { |word| set(cell, word, 0) }
          nil
        end

        # Where in memory the cell is, for C that writes there; nil, as there is no memory.
        #
        #: (Integer cell) -> Integer?
        def address(_cell) = nil

        private

        #: (Integer bytes) -> IO
        def backing(bytes) = nameless.tap { |file| file.truncate(bytes) }

        # An exception from another thread, as by Timeout, would leave it its name.
        #
        #: () -> File
        def nameless
          Thread.handle_interrupt(Object => :never) do
            file = Tempfile.create("skep", File.writable?("/dev/shm") ? "/dev/shm" : Dir.tmpdir)
            file.tap { File.unlink(file.path) }
          end
        end

        #: () -> void
        def attach
          @mutex = Mutex.new
        end

        #: () -> void
        def release; end

        #: (Integer cell, Integer word) -> Integer
        def place(cell, word)
          closed! if @io.closed?
          raise IndexError, "no cell #{cell} among #{cells}" unless (0...cells).cover?(cell)
          raise IndexError, "no word #{word} among #{WORDS}" unless (0...WORDS).cover?(word)

          (cell * CELL) + (word * 8)
        end

        #: (Integer cell, Integer word) -> Integer
        def writable(cell, word)
          raise IndexError, "word 0 is the sequence, which only write and clear move" if word.zero?

          place(cell, word)
        end

        #: (Integer place) -> Integer
        def fetch(place) = @io.pread(8, place).unpack1("Q")

        #: (Integer place, Integer) -> nil
        def store(place, integer)
          @io.pwrite([integer & MASK].pack("Q"), place)
          nil
        end

        #: (Integer place, String) -> nil
        def publish(place, bytes)
          @mutex.synchronize do
            sequence = fetch(place) + 1
            @io.pwrite(bytes, buffer(place, sequence))
            store(place, sequence)
          end
        end

        #: (Integer place, Integer sequence) -> Integer
        def buffer(place, sequence) = place + 128 + ((sequence % 2) * (BLOB + 2))
      end
      private_constant :Fallback
    end
  end
end
