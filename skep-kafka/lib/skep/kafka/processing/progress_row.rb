# frozen_string_literal: true

# One partition on a ProgressPage: up to which offset all its messages are done, and by key which of
# those after it are. What it says is never more than what a commit would say at that moment.
#
#   row.begin_at(40, epoch: 7, done: "0101")   # where its reading begins; nil: not known yet
#   row.done(42, epoch: 7)              # all before that offset is done
#   row.done(42, offsets: [44, 45])     # by key: these are, too
#   row.opened(messages)                # they are read, and not done
#   row.restart(100)                    # it is about to continue there
#   row.clear                           # the partition is revoked: what comes later has no effect
#
# The ring: offset n is bit n % 32 of window n / 32. Window w has word w % slots, whose upper half
# is w / slots: a word says which window it is, and needs no erasing when the position moves on.
# Offsets further from the position than the ring is long aren't noted: they are handled again.
module Skep
  module Kafka
    module Processing
      class ProgressRow
        BITS = 32
        MASK = (1 << BITS) - 1
        WORDS = (2...OS::SharedPage::WORDS) # of a ring's cell
        MOST_CELLS = 32 # of a ring
        private_constant :MOST_CELLS

        class << self
          def ring_cells(offsets)
            return 0 if offsets.zero?

            windows = (offsets / BITS) + 2
            (windows.fdiv(WORDS.size).ceil).clamp(1, MOST_CELLS)
          end

          # Returns the cell and the word of a window.
          def place(ring, window)
            cell, word = (window % (ring.size * WORDS.size)).divmod(WORDS.size)
            [ring[cell], WORDS.first + word]
          end

          # Returns what a word's upper half is for that window.
          def lap(ring, window) = (window / (ring.size * WORDS.size)) & MASK

          # Returns which of the window's offsets are done, as bits.
          def bits(page, ring, window)
            word = page.get(*place(ring, window))
            word >> BITS == lap(ring, window) ? word & MASK : 0
          end
        end

        # The block is called with the row's cells once it is cleared.
        def initialize(page, cells, topic, number, topic_id, &freed)
          @page, @cells, @freed = page, cells, freed
          @cell, *@ring = cells
          @topic, @number = topic, number
          @lock = Mutex.new
          @live = true
          @highest = @epoch = @noted_to = 0
          ring = [@ring.pack("S*")].pack("m0")
          page.write(@cell, ProgressPage.seal([topic, number, topic_id, ring]))
        end

        # done: digits as those of CommitMetadata#done_from. highest: of the leader epochs.
        def begin_at(position, epoch: nil, highest: 0, done: "")
          whole do
            note(done_offsets(position, done), position, highest) unless done.empty?
            move(position, epoch) if position
          end
        end

        # offsets: of messages that have been done since, in order.
        def done(position, epoch: nil, offsets: nil, highest: 0)
          whole do
            move(position, epoch) if position
            note(offsets, position || 0, highest) if offsets&.any?
          end
        end

        # Messages that have the offsets of others, which are done, belong to another log: it was
        # truncated.
        def opened(messages)
          return if @ring.empty? || messages.first.offset >= @noted_to

          whole { erase if messages.any? { |message| done?(message.offset) } }
        end

        # Nothing is done beyond that offset.
        def restart(position)
          whole do
            @page.set(@cell, ProgressPage::POSITION, 0)
            @position = nil
            erase
            move(position, nil)
          end
        end

        def clear
          whole do
            @page.set(@cell, ProgressPage::POSITION, 0)
            @live = false
            @freed.call(@cells)
          end
        end

        def inspect = "#<#{self.class} #{@topic}/#{@number} #{@position}>"

        private

        def whole = @lock.synchronize { yield if @live }

        # An epoch is there only with its own position: another one could look like that of a
        # truncated log.
        def move(position, epoch)
          known = epoch ? epoch + 1 : 0
          @page.set(@cell, ProgressPage::EPOCH, 0) unless known == @epoch
          @page.set(@cell, ProgressPage::POSITION, position + 1) unless position == @position
          @page.set(@cell, ProgressPage::EPOCH, known) unless known == @epoch
          @position, @epoch = position, known
        end

        # The position is written before: words of windows before it may be used again.
        def note(offsets, position, highest)
          return if @ring.empty?

          @page.set(@cell, ProgressPage::HIGHEST, @highest = highest) unless highest == @highest
          windows_of(offsets, position) { |window, bits| add(window, bits) }
          @noted_to = [@noted_to, offsets.last + 1].max
        end

        # Yields the windows of these offsets from the position on, as far as the ring goes, each
        # with its bits. (One pass: there is an offset for each message.)
        def windows_of(offsets, position)
          limit = (position / BITS) + (@ring.size * WORDS.size)
          window, bits = nil
          offsets.each do |offset|
            next if offset < position

            found = offset / BITS
            break if found >= limit

            unless found == window
              yield window, bits if window
              window, bits = found, 0
            end
            bits |= 1 << (offset % BITS)
          end
          yield window, bits if window
        end

        def add(window, bits)
          bits |= ProgressRow.bits(@page, @ring, window)
          lap = ProgressRow.lap(@ring, window)
          @page.set(*ProgressRow.place(@ring, window), (lap << BITS) | bits)
        end

        def done?(offset) = ProgressRow.bits(@page, @ring, offset / BITS)[offset % BITS] == 1

        def erase
          @ring.each { |cell| WORDS.each { |word| @page.set(cell, word, 0) } }
          @noted_to = 0
        end

        def done_offsets(position, digits)
          (0...digits.size).filter_map { |index| position + index if digits.getbyte(index) == 49 }
        end
      end
    end
  end
end
