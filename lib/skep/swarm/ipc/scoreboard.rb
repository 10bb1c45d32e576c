# frozen_string_literal: true

require "json"

# The page in shared memory on which processes and their threads report themselves.
#
#   layout = Scoreboard::Layout.new(nodes: 4, threads: 5)     # where each writes
#   heartbeat = Scoreboard::Heartbeat.new(page, layout.of(3, thread: 2))   # a thread's writer
#   reader = Scoreboard::Reader.new(page, layout)             # the supervisor's side
#   Scoreboard::MemorySample.find(page, layout.memory(3))     # a node's count of its own pages
#
# Each cell has one writer, so there is no lock. A node can write anything there: the readers accept
# whatever they find.
module Skep
  class Swarm
    module IPC
      module Scoreboard
        # Assigns the cells: one for each process, one for each of its threads; and at the end of
        # the page one for each process' memory sample.
        #
        #   layout = Layout.new(nodes: 4, threads: 5)
        #   layout.total                 # => 28, the cells that the page must hold
        #   layout.of(3)                 # => 18, the cell of the process with page index 3
        #   layout.of(3, thread: 2)      # => 20, the cell of its second worker thread
        #   layout.memory(3)             # => 27, the cell of its memory sample
        class Layout
          # The words of a cell. A time is monotonic nanoseconds; 0: never.
          BUSY_UNTIL = 2      # no beat is due until then
          DONE = 3            # number of messages or items done since boot
          IN_FLIGHT_SINCE = 4 # since when something is in flight
          UNHEALTHY_SINCE = 5 # time of an `unhealthy!` that no progress has followed
          CURRENT_ITEM = 6    # which part of it was given out last, plus 1; 0: all of it
          DONE_AT = 7         # when something was done last

          attr_reader :nodes
          attr_reader :threads

          def initialize(nodes:, threads:)
            @nodes = nodes
            @threads = threads
          end

          def total = @nodes * (2 + threads)

          def of(node, thread: 0)
            if thread > threads || node >= @nodes
              raise ArgumentError, "no cell for thread #{thread} of node #{node}"
            end

            (node * (1 + threads)) + thread
          end

          def memory(node) = (@nodes * (1 + threads)) + node

          # The cells of a process and of all its threads.
          def all(node) = (of(node)..of(node, thread: threads))
        end

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
        class Heartbeat
          MOST = (2**63) - 2
          private_constant :MOST

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
            @page.mark(@cell, Layout::CURRENT_ITEM, number ? number + 1 : 0)
          end

          # For C that does the same as `current_item` while the thread is healthy: the cell's
          # address, and the words to write and to check. nil where pages have no address.
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

        # A thread's last heartbeat: its cell, its number (0: the process itself), when it was, and
        # until when no beat is due. Monotonic seconds.
        ThreadStatus = Struct.new(:cell, :thread, :at, :busy_until)

        # Reads what the threads of a node have written.
        #
        #   reader.of(node)          # => [ThreadStatus, …]: the process, and each thread at work
        #   reader.unhealthy_since(node)   # => of an `unhealthy!` without progress since; or nil
        #   reader.in_flight(node, 2)  # => ["orders/0/17-42 at 25", …], thread 2's first
        #   reader.items_in_flight(node)   # => [["orders/0/17-42", 25], …]
        #   reader.in_flight_since(node); reader.done_at(node)
        #   reader.memory_sample(node)   # => time and result of its last measurement, or nil
        class Reader
          def initialize(page, layout)
            @page = page
            @layout = layout
          end

          # A worker thread with nothing in flight is left out: it owes no progress.
          def of(node)
            own, *others = *@layout.all(node.page_index)
            at_work = others.filter_map do |cell|
              since = seconds(cell, Layout::IN_FLIGHT_SINCE)
              status(cell, cell - own, since) if since.positive?
            end
            [status(own, 0, node.ready_at || 0.0), *at_work]
          end

          # How many messages or items its threads have done.
          def done(node)
            @layout.all(node.page_index).sum { |cell| @page.get(cell, Layout::DONE) }
          end

          # When one of its threads has done something last; 0.0: none has.
          def done_at(node)
            @layout.all(node.page_index).map { |cell| seconds(cell, Layout::DONE_AT) }.max
          end

          # Since when the first of the items in flight is; nil: nothing is.
          def in_flight_since(node) = earliest(node, Layout::IN_FLIGHT_SINCE)

          # Since when one of its threads is unhealthy, without progress; nil: none is.
          def unhealthy_since(node) = earliest(node, Layout::UNHEALTHY_SINCE)

          def in_flight(node, thread = 0)
            items_in_flight(node, thread).map { |item| CrashSuspects.name(*item) }
          end

          # Returns each item's name, and the part of it that was given out last, if it is known.
          def items_in_flight(node, thread = 0)
            own = @layout.of(node.page_index)
            all = [own + thread, *@layout.all(node.page_index)].uniq
            all.filter_map do |cell|
              text = @page.read(cell).to_s.scrub
              [text, current_item(cell)] unless text.empty?
            end
          end

          def memory_sample(node) = MemorySample.find(@page, @layout.memory(node.page_index))

          private

          def status(cell, thread, since)
            at = [seconds(cell, OS::SharedPage::BEAT), since].max
            ThreadStatus.new(cell, thread, at, seconds(cell, Layout::BUSY_UNTIL))
          end

          def earliest(node, word)
            times = @layout.all(node.page_index).map { |cell| seconds(cell, word) }
            times.select(&:positive?).min
          end

          def current_item(cell)
            part = @page.get(cell, Layout::CURRENT_ITEM)
            part.zero? ? nil : part - 1
          end

          def seconds(cell, word) = @page.get(cell, word) / 1e9
        end

        # A node's count of its own pages, which it makes itself (Memory::MemoryMeter).
        #
        #   MemorySample.of_self             # => {"rss" => …, "pss" => …}; {}: it can't count
        #   MemorySample.leave(page, cell, OS.now, sample)   # in the node: writes it to the page
        #   MemorySample.find(page, cell)    # in the supervisor: [when, what]
        #                                    # nil: there is nothing, or nothing valid
        module MemorySample
          BYTES = %w[rss pss uss shared swap anonymous].freeze
          MOST = 2**53 # bytes
          private_constant :MOST

          class << self
            # Returns {} without /proc, without a free descriptor to open a file with, or where the
            # process may not read its own files (AppArmor).
            def of_self
              memory = OS::Memory.of
              statm = OS::Memory::Statm.of
              return {} unless memory && statm

              { **memory.to_h.transform_keys(&:to_s), "anonymous" => statm.anonymous }
            rescue Errno::EACCES
              {}
            end

            def leave(page, cell, now, sample)
              page.write(cell, [now, *sample.values_at(*BYTES).compact].pack("DQ*"))
            end

            def find(page, cell)
              at, *bytes = page.read(cell)&.unpack("DQ*")
              return unless at && at >= 0.0 && at <= OS.now # a node can write anything there
              return [at, {}] if bytes.empty?

              [at, BYTES.zip(bytes.map { |count| count.clamp(0, MOST) }).to_h] if
                bytes.size == BYTES.size
            end
          end
        end
      end
    end
  end
end
