# frozen_string_literal: true

# The items that were in flight when nodes of this swarm crashed, as one node knows them.
#
#   caution = child.caution
#   caution.suspects         # => [CrashSuspects::Suspect, …]: in_hand, at, crashes, alone, ends
#   caution.acquit(some)     # they are done: all nodes forget them
#   caution.convict(some)    # they caused the crashes, which no longer count as a crash loop
#
# If the work processes suspects one at a time, with nothing else in flight, the `alone` of the item
# that crashes nodes increases. The work handles that item, for example by a dead letter topic, and
# then acquits it. The methods may be called from any thread.
module Skep
  class Swarm
    module Processes
      class KnownSuspects
        # report: sends a message to the supervisor. plain: the suspects at the time of the fork.
        def initialize(plain, report:) #: (Array[Hash[String, untyped]]?, report: untyped) -> void
          @known = IPC::CrashSuspects.new.learn(plain || [])
          @report = report
          @lock = Mutex.new
        end

        # Returns true if there are suspects.
        def any? = !@known.empty? #: () -> bool

        # Returns the suspects. Each has an item's name (`in_hand`, `at`), the number of `crashes`
        # while it was in flight, how many of those with nothing else in flight (`alone`), and how
        # those nodes exited (`ends`).
        def suspects = @known.to_a #: () -> Array[IPC::CrashSuspects::Suspect]

        # Reports that these items are done. All nodes forget them.
        #: (Array[IPC::CrashSuspects::Suspect]) -> void
        def acquit(suspects)
          @lock.synchronize { @known.clear(suspects.map(&:key)) }
          report_resolved(suspects, guilty: false)
        end

        # Reports these items as the cause of the crashes. Those crashes no longer count towards the
        # crash-loop limit.
        #: (Array[IPC::CrashSuspects::Suspect]) -> void
        def convict(suspects) = report_resolved(suspects, guilty: true)

        # Called by the control thread.

        def __hear(frame) #: (IPC::Channel::Message) -> void
          @lock.synchronize do
            @known.clear(frame["dropped"] || [])
            @known.learn(frame["added"] || [])
          end
        end

        def inspect = "#<#{self.class} #{suspects.map(&:to_s)}>" #: () -> String

        private

        def report_resolved(suspects, guilty:)
          return if suspects.empty?

          @report.call("judged", { "suspects" => suspects.map(&:key), "guilty" => guilty })
        end
      end
    end
  end
end
