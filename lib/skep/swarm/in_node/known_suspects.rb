# frozen_string_literal: true

# What a node knows of things that others had in hand when they crashed, so that it can take care.
#
#   caution = child.caution
#   caution.suspects         # => [CrashSuspects::Suspect, …]: in_hand, at, crashes, alone, ends
#   caution.acquit(some)     # they have been done: forgotten, here and everywhere
#   caution.convict(some)    # they are at fault for their crashes, which are no crash loop then
#
# Whoever gives them out one at a time, with nothing else in hand, finds the one that is to blame by
# its `alone`. What is done with it is the work's business, and then to acquit it.
# Its methods may be called from any thread.
module Skep
  class Swarm
    module InNode
      class KnownSuspects
        # report: as Child's; plain: what was known at the fork.
        def initialize(plain, report:) #: (Array[Hash[String, untyped]]?, report: untyped) -> void
          @known = IPC::CrashSuspects.new.learn(plain || [])
          @report = report
          @lock = Mutex.new
        end

        def any? = !@known.empty? #: () -> bool, is anything suspect?

        # Each with what it was (`in_hand`, `at`), how many crashes it was in hand at, how many of
        # them `alone`, and how those ended (`ends`).
        def suspects = @known.to_a #: () -> Array[IPC::CrashSuspects::Suspect]

        # They were done after all, and aren't suspect any more.
        #: (Array[IPC::CrashSuspects::Suspect]) -> void
        def acquit(suspects)
          @lock.synchronize { @known.clear(suspects.map(&:key)) }
          judge(suspects, guilty: false)
        end

        # They ended those nodes: told as such, and these crashes are no crash loop.
        #: (Array[IPC::CrashSuspects::Suspect]) -> void
        def convict(suspects) = judge(suspects, guilty: true)

        # The control thread's side.

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
