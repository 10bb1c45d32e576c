# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Counts the items that workers have started, in memory that the map shares with them. Each
      # chunk in flight has a counter: one word with the number of items that the worker may start,
      # and the number that it has started. Both sides change it by atomic additions, so they always
      # agree: a worker never starts an item that the map has withdrawn.
      #
      #   counters = SharedCounters.new(2, 1)         # workers, and threads in each
      #   counters.reset(counter, 100)                # before a chunk of 100 items is sent
      #   counters.started(counter, 100)              # => 3
      #   counters.withdraw(counter, 100)             # => 3, how many items the worker keeps
      #   page, cell, word = counters.location(counter)   # ChunkRunner adds 1 there for each item
      #
      # The Ruby fallback of SharedPage can't add atomically between processes; with it `withdraw`
      # leaves the whole chunk to the worker.
      class SharedCounters
        LIMIT_SHIFT = 30
        STARTED_MASK = (1 << LIMIT_SHIFT) - 1
        FIRST_WORD = 2
        WORDS = 6 # free words of a page's cell
        private_constant :FIRST_WORD, :WORDS

        def initialize(workers, threads)
          @counters = threads * 2 # of a worker: as many chunks again wait in its socket
          @cells = (@counters + WORDS - 1) / WORDS
          @page = OS::SharedPage.create(workers * @cells)
        end

        # The counters of a worker.
        def of(worker) = Array.new(@counters) { |number| (worker * @counters) + number }

        def location(counter)
          worker, number = counter.divmod(@counters)
          [@page, (worker * @cells) + (number / WORDS), FIRST_WORD + (number % WORDS)]
        end

        def reset(counter, size)
          _, cell, word = location(counter)
          @page.set(cell, word, size << LIMIT_SHIFT)
        end

        # Returns how many items of a chunk of that size have been started.
        def started(counter, size)
          _, cell, word = location(counter)
          [@page.get(cell, word) & STARTED_MASK, size].min
        end

        # Withdraws the items of a chunk that the worker hasn't started, and returns how many it
        # keeps: also those that it starts while this method reads the counter.
        def withdraw(counter, size)
          return size unless OS::SharedPage.native?

          _, cell, word = location(counter)
          value = @page.get(cell, word)
          limit = value >> LIMIT_SHIFT
          surplus = limit - [value & STARTED_MASK, limit].min
          [@page.add(cell, word, -(surplus << LIMIT_SHIFT)) & STARTED_MASK, size].min
        end

        # Records why a worker is about to exit.
        def record_exit_reason(worker, reason)
          @page.write(worker * @cells, reason.byteslice(0, OS::SharedPage::BLOB))
        end

        def exit_reason(worker) = @page.read(worker * @cells)

        # Resets everything of that worker, before another process takes its number.
        def clear(worker) = @cells.times { |number| @page.clear((worker * @cells) + number) }

        def close = @page.close
      end
      private_constant :SharedCounters
    end
  end
end
