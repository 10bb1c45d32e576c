# frozen_string_literal: true

# What a node knows of items that other nodes had in flight when they crashed.
#
#   caution = child.caution
#   caution.suspects         # => [CrashSuspects::Suspect, …]: in_hand, at, crashes, alone, ends
#   caution.acquit(some)     # they have been done: forgotten, by all nodes
#   caution.convict(some)    # they caused those crashes, which then are no crash loop
#
# A work that gives them out one at a time, with nothing else in flight, finds the item to blame by
# its `alone`. It decides what becomes of that item, and then acquits it. The methods may be called
# from any thread.
module Skep
  class Swarm
    module Processes
      class KnownSuspects
        # report: as Child's; plain: what was known at the fork.
        def initialize(plain, report:) #: (Array[Hash[String, untyped]]?, report: untyped) -> void
          @known = IPC::CrashSuspects.new.learn(plain || [])
          @report = report
          @lock = Mutex.new
        end

        def any? = !@known.empty? #: () -> bool, is anything suspect?

        # Each has its name (`in_hand`, `at`), the number of crashes while it was in flight, how
        # many of those `alone`, and how those nodes ended (`ends`).
        def suspects = @known.to_a #: () -> Array[IPC::CrashSuspects::Suspect]

        # Reports that they are done. They aren't suspect any more.
        #: (Array[IPC::CrashSuspects::Suspect]) -> void
        def acquit(suspects)
          @lock.synchronize { @known.clear(suspects.map(&:key)) }
          judge(suspects, guilty: false)
        end

        # Reports these items as the cause of the crashes. Those crashes no longer count towards the
        # crash-loop limit.
        #: (Array[IPC::CrashSuspects::Suspect]) -> void
        def convict(suspects) = judge(suspects, guilty: true)

        # For the control thread.

        def __hear(frame) #: (IPC::Channel::Message) -> void
          @lock.synchronize do
            @known.clear(frame["dropped"] || [])
            @known.learn(frame["added"] || [])
          end
        end

        def inspect = "#<#{self.class} #{suspects.map(&:to_s)}>" #: () -> String

        private

        def judge(suspects, guilty:)
          return if suspects.empty?

          @report.call("judged", { "suspects" => suspects.map(&:key), "guilty" => guilty })
        end
      end
    end
  end
end
