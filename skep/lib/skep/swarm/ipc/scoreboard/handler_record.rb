# frozen_string_literal: true

# What a handler has done in one process. The process writes it to cells of its own; the other nodes
# of the swarm read it, to tell a bad message from an ill process and from a dependency that is
# unavailable.
#
#   records = HandlerRecords.new(page, layout, 3)    # of the process with page index 3
#   own = records.own(kind)                          # kind: a number, the same in all processes
#   own.succeeded(20, began)                         # so many messages; when that try began
#   own.failed(now)                                  # a message has failed
#   own.trouble = 24                                 # a number that means something to the work
#   own.fails_first(id, failing: 2, since: now, known: true)   # id: a number that names it
#   records.others(kind)   # => [HandlerFacts, …] of other processes, also of some that have ended
#
# A process has RECORDS records; further topics of a source have none. Records of a process that
# has ended stay until its cells are used again.
module Skep
  class Swarm
    module IPC
      module Scoreboard
        # cell: of the record. successes, failed: how many messages were done, and how many have
        # failed, each counted once. succeeded_at: when the last try that succeeded began. failing:
        # how many messages have failed since then; failing_since: when the first of them did; 0.0:
        # none. trouble: what the work makes of it. ids: of the messages that failed last. Times
        # are monotonic seconds; 0.0: never.
        HandlerFacts = Struct.new(:cell, :successes, :failed, :succeeded_at, :failed_at, :failing,
                                  :failing_since, :trouble, :ids)

        class HandlerRecord
          # The words of the cell.
          KIND = 2
          SUCCESSES = 3
          FAILED = 4
          SUCCEEDED_AT = 5
          FAILED_AT = 6
          FAILING = 7
          FAILING_SINCE = 8
          TROUBLE = 9
          IDS = 50
          private_constant :KIND, :SUCCESSES, :FAILED, :SUCCEEDED_AT, :FAILED_AT, :FAILING,
                           :FAILING_SINCE, :TROUBLE, :IDS

          # Returns the facts of a cell; nil if it isn't a record of that kind.
          def self.read(page, cell, kind)
            return unless page.get(cell, KIND) == kind

            counts = [SUCCESSES, FAILED].map { |word| page.get(cell, word) }
            at = [SUCCEEDED_AT, FAILED_AT].map { |word| page.get(cell, word) / 1e9 }
            HandlerFacts.new(cell, *counts, *at, page.get(cell, FAILING),
                             page.get(cell, FAILING_SINCE) / 1e9, page.get(cell, TROUBLE),
                             page.read(cell).to_s.unpack("Q*"))
          end

          def initialize(page, cell, kind)
            @page, @cell = page, cell
            @ids = []
            @page.set(cell, KIND, kind)
          end

          def succeeded(count, began)
            @page.add(@cell, SUCCESSES, count)
            time(SUCCEEDED_AT, @succeeded_at = [@succeeded_at, began].compact.max)
            return unless @failing

            @failing = false
            @page.set(@cell, FAILING, 0)
          end

          def failed(now) = time(FAILED_AT, now)

          def trouble=(number)
            @page.set(@cell, TROUBLE, number)
          end

          # failing, since: as in HandlerFacts. known: it isn't one of several messages.
          def fails_first(id, failing:, since:, known:)
            @failing = true
            @page.add(@cell, FAILED, 1) if known
            @page.set(@cell, FAILING, failing)
            time(FAILING_SINCE, since)
            @ids = [*@ids, id].last(IDS)
            @page.write(@cell, @ids.pack("Q*"))
          end

          private

          def time(word, seconds) = @page.set(@cell, word, [(seconds * 1e9).to_i, 0].max)
        end
      end
    end
  end
end
