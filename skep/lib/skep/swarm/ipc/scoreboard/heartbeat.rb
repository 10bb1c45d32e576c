# frozen_string_literal: true

# Writes one cell: that its thread makes progress, until when no beat is due, what it has in
# flight, and whether it is unhealthy.
#
#   heartbeat.beat                       # progress
#   heartbeat.tick                       # alive: waiting for something to do
#   heartbeat.busy(120) { … }            # no beat is due during the block
#   heartbeat.in_flight("orders/0/17-42"); heartbeat.current_item(25)
#   heartbeat.in_flight(nil)             # it is done
#
# A beat takes nanoseconds and no system call.
module Skep
  class Swarm
    module IPC
      module Scoreboard
        class Heartbeat
          MOST = (2**63) - 2
          private_constant :MOST

          attr_reader :cell

          def initialize(page, cell)
            @page = page
            @cell = cell
            @busy_until = {}
            @lock = Mutex.new
          end

          # Reports that the thread waits and has nothing to make progress with. Leaves its health
          # as it is.
          def tick = @page.beat(@cell)

          # Reports progress. Progress makes the thread healthy again.
          def beat
            mark_healthy if @unhealthy
            @page.beat(@cell)
          end

          # No beat is due for so many seconds; with a block, until it returns. Of several at a time
          # the longest counts. A call without a block replaces the last call without one.
          def busy(seconds)
            seconds = Arguments.seconds(seconds, "busy(for:) takes")
            token = block_given? ? Object.new : :declared
            update_busy { @busy_until[token] = OS.now + seconds }
            return unless block_given?

            begin
              yield
            ensure
              update_busy { @busy_until.delete(token) }
              beat
            end
          end

          # Reports progress, and the part of what is in flight that was just given out; nil: all.
          def current_item(number)
            Arguments.whole(number, "current_item takes nil or") unless place?(number)
            mark_healthy if @unhealthy
            begin_in_flight if number
            @page.mark(@cell, Layout::CURRENT_ITEM, number ? number + 1 : 0)
          end

          # For C that does the same as `current_item` in a healthy thread, after the first part of
          # what is in flight: the cell's address, and the words to write and to check. nil where
          # pages have no address.
          def spot
            address = @page.address(@cell)
            address && [address, Layout::CURRENT_ITEM, Layout::UNHEALTHY_SINCE]
          end

          # Writes what is in flight. The thread has to make progress with it from here on. nil or
          # empty: nothing is in flight.
          def in_flight(text)
            text = Arguments.text(text, "in_flight takes")
            @page.set(@cell, Layout::IN_FLIGHT_SINCE, text.to_s.empty? ? 0 : nanoseconds(OS.now))
            label(text)
          end

          # Writes what is in flight only for the report of a crash.
          def label(text)
            text = Arguments.text(text, "in_flight takes").to_s
            @page.set(@cell, Layout::CURRENT_ITEM, 0)
            @page.write(@cell, text.byteslice(0, OS::SharedPage::BLOB).scrub(""))
          end

          # Returns the number of items done in all.
          def processed(number)
            Arguments.whole(number, "processed takes")
            beat
            @page.set(@cell, Layout::DONE_AT, nanoseconds(OS.now))
            @page.add(@cell, Layout::DONE, number)
          end

          # The thread can't work until it beats or is marked healthy.
          def mark_unhealthy
            return if @unhealthy

            @unhealthy = true
            @page.set(@cell, Layout::UNHEALTHY_SINCE, nanoseconds(OS.now))
          end

          def mark_healthy
            @unhealthy = false
            @page.set(@cell, Layout::UNHEALTHY_SINCE, 0)
          end

          private

          # The first beat after in_flight only begins it: nobody may take that for progress.
          def begin_in_flight
            first = @page.get(@cell, OS::SharedPage::BEAT) <
                    @page.get(@cell, Layout::IN_FLIGHT_SINCE)
            @page.set(@cell, Layout::IN_FLIGHT_SINCE, nanoseconds(OS.now)) if first
          end

          def place?(number)
            NilClass === number || (Integer === number && number.between?(0, MOST))
          end

          def update_busy
            @lock.synchronize do
              yield
              @page.set(@cell, Layout::BUSY_UNTIL, nanoseconds(@busy_until.each_value.max || 0))
            end
          end

          def nanoseconds(seconds) = [(seconds * 1e9).to_i, 0].max
        end
      end
    end
  end
end
