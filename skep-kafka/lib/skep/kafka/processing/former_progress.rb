# frozen_string_literal: true

# What the ProgressPage of a process that has died says, and whether it still holds.
#
#   former = FormerProgress.read(shared_page)    # nil: it says nothing that can be used
#   former.refusal(identity:, generation:, now:, session:)   # => why not; nil: it holds
#   former.rows[["orders", 3]].refusal(committed: 40, topic_id:, low: 0, high: 100)   # the same
#   former.rows[["orders", 3]].position          # => 42; with `epoch`, `highest`, `done`
#
# A member that comes back with its group.instance.id before its session ends keeps its partitions,
# and its group the generation. In the same generation no other member had them, so that what the
# page says is where each of them stands. Each rebalance begins another generation.
module Skep
  module Kafka
    module Processing
      class FormerProgress
        # Of the session timeout: how old the page may be. The broker counts from the last
        # heartbeat, which is older.
        AGE = 0.9
        # done: "1" for each offset from the position on that is done, or "0".
        Row = Struct.new(:position, :epoch, :highest, :topic_id, :done, keyword_init: true) do
          # committed: the group's offset, nil if it has none. topic_id: nil if it isn't known.
          # low, high: the partition's watermarks.
          def refusal(committed:, topic_id:, low:, high:)
            return "the topic was created again" unless same_topic?(topic_id, committed)
            return "the committed offset is higher" if committed && committed > position
            return "it isn't known where the partition begins and ends" unless low && high

            "the partition has no such offset" unless position.between?(low, high)
          end

          private

          # Without an id (before Kafka 2.8), a committed offset shows that the topic wasn't
          # deleted: that deletes it.
          def same_topic?(id, committed) = topic_id ? id == topic_id : !committed.nil?
        end

        class << self
          def read(page)
            return unless Swarm::IPC::ProgressPages.version(page) == ProgressPage::VERSION

            identity = ProgressPage.unseal(page.read(0)) or return
            generation, member_at, used = [ProgressPage::GENERATION, ProgressPage::MEMBER_AT,
                                           ProgressPage::USED_CELLS].map { |word| page.get(0, word) }
            cells = [used, page.cells].min
            rows = (1...cells).filter_map { |cell| row(page, cell, cells) }.to_h
            new(identity:, generation: generation - 1, member_at:, rows:)
          end

          private

          # Returns [[topic, number], Row]; nil if the cell has no row, or a torn one.
          def row(page, cell, cells)
            topic, number, topic_id, ring = ProgressPage.unseal(page.read(cell))
            ring &&= ring.unpack1("m0").unpack("S*")
            position = page.get(cell, ProgressPage::POSITION) - 1
            return unless ring && position >= 0 && ring.all? { |one| (1...cells).cover?(one) }

            epoch = page.get(cell, ProgressPage::EPOCH) - 1
            [[topic, number],
             Row.new(position:, epoch: (epoch unless epoch.negative?), topic_id:,
                     highest: page.get(cell, ProgressPage::HIGHEST),
                     done: ring.empty? ? "" : done(page, ring, position))]
          end

          def done(page, ring, position)
            first = position / ProgressRow::BITS
            windows = first...(first + (ring.size * ProgressRow::WORDS.size))
            digits = windows.map do |window|
              [ProgressRow.bits(page, ring, window)].pack("V").unpack1("b*")
            end.join
            digits = digits[(position % ProgressRow::BITS)..]
            digits.sub(/0+\z/, "")
          end
        end

        attr_reader :rows # by topic and number

        def initialize(identity:, generation:, member_at:, rows:)
          @identity, @generation, @member_at, @rows = identity, generation, member_at, rows
        end

        # now: nanoseconds, as ProgressPage.now. session: seconds.
        def refusal(identity:, generation:, now:, session:)
          return "it is another member's" unless identity == @identity
          return "its generation isn't known" if generation.nil?
          return "there was a rebalance" unless generation == @generation

          age = (now - @member_at) / 1e9
          "the session may have ended" unless age.between?(0, AGE * session)
        end

        def inspect = "#<#{self.class} rows=#{rows.size} generation=#{@generation}>"
      end
    end
  end
end
