# frozen_string_literal: true

# What one cell of the page tells of the thread that writes it: that it makes progress, until when
# it owes none, what it has in hand, and whether it says that it is ill.
#
#   heartbeat = Heartbeat.new(page, layout.of(page_index, thread: 2))
#   heartbeat.beat                       # progress
#   heartbeat.tick                       # alive: waiting for something to do
#   heartbeat.busy(120) { … }            # no beat is owed meanwhile
#   heartbeat.hold("orders/0/17-42"); heartbeat.at(25); heartbeat.hold(nil)
#
# Nanoseconds and no system call, but for a word more to write at `busy` and `hold`. The supervisor
# reads them: Reader.
module Skep
  class Swarm
    module IPC
      module Scoreboard
        class Heartbeat
          MOST = (2**63) - 2
          private_constant :MOST

          def initialize(page, cell) #: (OS::SharedPage, Integer) -> void
            @page = page
            @cell = cell
            @excuses = {}
            @lock = Mutex.new
          end

          # It waits, and so has nothing to make progress with. Says nothing about its health.
          def tick = @page.beat(@cell) #: () -> void

          # The work made progress, which heals it, too.
          def beat #: () -> void
            mark_healthy if @ill
            @page.beat(@cell)
          end

          # No beat is owed for so many seconds; with a block, until it returns. Several at a time
          # hold as long as the longest; one without a block replaces the last without one.
          def busy(seconds) #: (Numeric) ?{ () -> untyped } -> untyped
            seconds = Messages.seconds(seconds, "busy(for:) takes")
            token = block_given? ? Object.new : :declared
            excuse { @excuses[token] = OS.now + seconds }
            return unless block_given?

            begin
              yield
            ensure
              excuse { @excuses.delete(token) }
              beat
            end
          end

          # The same for one part of what it has in hand, which was just given out; nil: all of it.
          def at(number) #: (Integer?) -> void
            Messages.whole(number, "at takes nil or") unless place?(number)
            mark_healthy if @ill
            @page.mark(@cell, Layout::AT, number ? number + 1 : 0)
          end

          # For C that does what `at` does, while it isn't ill: the cell's address, and the words to
          # write and to look at. nil where there is none.
          def spot #: () -> [Integer, Integer, Integer]?
            (address = @page.address(@cell)) && [address, Layout::AT, Layout::ILL_SINCE]
          end

          # What it has in hand, from here on its duty to make progress with; nil or empty: nothing.
          def hold(text) #: (String?) -> void
            text = Messages.text(text, "in_hand takes")
            @page.set(@cell, Layout::HELD_SINCE, text.to_s.empty? ? 0 : nanoseconds(OS.now))
            label(text)
          end

          # The same for those who read a dead node's page alone.
          def label(text) #: (String?) -> void
            text = Messages.text(text, "in_hand takes").to_s
            @page.set(@cell, Layout::AT, 0)
            @page.write(@cell, text.byteslice(0, OS::SharedPage::BLOB).scrub(""))
          end

          # Returns how much it has done in all.
          def count(number) #: (Integer) -> Integer
            Messages.whole(number, "count takes")
            beat
            @page.add(@cell, Layout::DONE, number)
          end

          # It can't do its work, until it beats or heals.
          def mark_unhealthy #: () -> void
            return if @ill

            @ill = true
            @page.set(@cell, Layout::ILL_SINCE, nanoseconds(OS.now))
          end

          def mark_healthy #: () -> void
            @ill = false
            @page.set(@cell, Layout::ILL_SINCE, 0)
          end

          private

          def place?(number)
            NilClass === number || (Integer === number && number.between?(0, MOST))
          end

          def excuse
            @lock.synchronize do
              yield
              @page.set(@cell, Layout::BUSY_UNTIL, nanoseconds(@excuses.each_value.max || 0))
            end
          end

          def nanoseconds(seconds) = [(seconds * 1e9).to_i, 0].max
        end
      end
    end
  end
end
