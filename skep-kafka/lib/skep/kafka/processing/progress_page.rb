# frozen_string_literal: true

# The page of shared memory on which a member of a group notes how far its partitions are, so that
# the next process of its slot continues there after a kill (Consumer::MemberProgress). It outlives
# the process, and is written without a system call.
#
#   page = ProgressPage.new(shared_page, identity)
#   row = page.row("orders", 3, ring: 5_000)   # nil: the page is full
#   page.publish(generation: 7)                # all rows are complete
#   page.member_seen
#   page.withdraw                              # it says nothing any more
#
# The layout, in cells of an OS::SharedPage:
#
# - Cell 0: the word of Swarm::IPC::ProgressPages, which has the layout's VERSION, or 0 while the
#   page says nothing; GENERATION of the group, plus 1; MEMBER_AT, when the process was a member
#   last; USED_CELLS, how many cells are used. Its blob is the identity: swarm, group and member.
# - A cell for each partition: the words POSITION, up to which all is done, plus 1 (0: unknown);
#   EPOCH, the leader epoch of that offset, plus 1 (0: unknown); HIGHEST, the highest epoch read.
#   Its blob says which partition, the topic's id, and the cells of its ring.
# - By key, cells with a ring of words: which messages after POSITION are done (ProgressRow).
#
# A word is read and written whole, and a blob has its checksum: a process may be killed between any
# two instructions. FormerProgress reads the page.
module Skep
  module Kafka
    module Processing
      class ProgressPage
        VERSION = 1
        GENERATION, MEMBER_AT, USED_CELLS = 3, 4, 5
        POSITION, EPOCH, HIGHEST = 2, 3, 4

        class << self
          # Text for a blob, with its checksum.
          def seal(plain)
            text = JSON.generate(plain)
            [Zlib.crc32(text)].pack("N") << text.b
          end

          # Returns nil for a blob that isn't whole.
          def unseal(blob)
            sum, text = blob&.unpack("Na*")
            JSON.parse(text.force_encoding(Encoding::UTF_8)) if sum && sum == Zlib.crc32(text)
          rescue JSON::ParserError # a process can have written anything
            nil
          end

          # In nanoseconds. The session goes on while this host is suspended.
          def now = (OS.now_with_suspends * 1e9).to_i
        end

        def initialize(page, identity)
          @page = page
          @lock = Mutex.new
          @free = []
          @used = 1
          withdraw
          used_before = [page.get(0, USED_CELLS), page.cells].min
          used_before.times { |cell| page.clear(cell) }
          page.write(0, ProgressPage.seal(identity))
        end

        # Returns the row of a partition that is being assigned. ring: how many offsets after its
        # position it is to tell apart; 0: none.
        def row(topic, number, topic_id: nil, ring: 0)
          @lock.synchronize do
            cells = take(1 + ProgressRow.ring_cells(ring)) or next
            ProgressRow.new(@page, cells, topic, number, topic_id) { |freed| give_back(freed) }
          end
        end

        # The member has these rows in that generation of its group.
        def publish(generation:)
          member_seen
          @page.set(0, GENERATION, generation + 1)
          Swarm::IPC::ProgressPages.publish(@page, VERSION)
        end

        # It is a member of its group now.
        def member_seen = @page.set(0, MEMBER_AT, ProgressPage.now)

        def withdraw = Swarm::IPC::ProgressPages.withdraw(@page)

        def inspect = "#<#{self.class} cells=#{@used}/#{@page.cells}>"

        private

        # What no row has used is empty.
        def take(count)
          fresh = [count - @free.size, 0].max
          return if @used + fresh > @page.cells

          cells = @free.pop(count - fresh).each { |cell| @page.clear(cell) }
          cells.concat((@used...@used + fresh).to_a)
          @used += fresh
          @page.set(0, USED_CELLS, @used)
          cells
        end

        def give_back(cells) = @lock.synchronize { @free.concat(cells) }
      end
    end
  end
end
