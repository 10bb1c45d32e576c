# frozen_string_literal: true

# The items that were in flight when nodes of this swarm crashed, as one node knows them.
#
#   suspects = node.crash_suspects
#   suspects.each { |one| … }   # one: in_flight, current_item, crashes, alone, ends
#   suspects.clear(some)        # they are done: all nodes forget them
#   suspects.blame(some)        # they caused the crashes, which no longer count as a crash loop
#
# If the work processes suspects one at a time, with nothing else in flight, the `alone` of the item
# that crashes nodes increases. The work handles that item, for example by a dead letter topic, and
# then clears it. The methods may be called from any thread.
module Skep
  class Swarm
    module Processes
      class KnownSuspects
        include Enumerable

        # report: sends a message to the supervisor. plain: the suspects at the time of the fork.
        def initialize(plain, report:)
          @known = IPC::CrashSuspects.new.learn(plain || [])
          @report = report
          @lock = Mutex.new
        end

        # Returns true if there are suspects; with a block, as Enumerable#any?.
        def any?(...) = !@known.empty? && super

        # Returns true if nothing is suspected.
        def empty? = @known.empty?

        # Yields the suspects. Each has an item's name (`in_flight`, `current_item`), the number of
        # `crashes` while it was in flight, how many of those with nothing else in flight (`alone`),
        # and how those nodes exited (`ends`).
        def each(&) = @known.to_a.each(&)

        # Reports that these items are done. All nodes forget them.
        def clear(suspects)
          keys = suspects.map(&:key)
          @lock.synchronize { @known.clear(keys) }
          report_resolved(keys, blamed: false)
        end

        # Reports these items as the cause of the crashes. Those crashes no longer count towards the
        # crash-loop limit.
        def blame(suspects) = report_resolved(suspects.map(&:key), blamed: true)

        # Called by the control thread.

        def __receive(frame)
          @lock.synchronize do
            @known.clear(frame["dropped"] || [])
            @known.learn(frame["added"] || [])
          end
        end

        def inspect = "#<#{self.class} #{map(&:to_s)}>"

        private

        def report_resolved(keys, blamed:)
          @report.call("suspects_resolved", { "suspects" => keys, "blamed" => blamed }) if keys.any?
        end
      end
    end
  end
end
