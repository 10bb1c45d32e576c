# frozen_string_literal: true

# Kills a node at random each time it is due, one after the other, and takes the time until its
# replacement is ready.
#
#   kills = Kills.new(plan, roster)
#   kills.strike if kills.due?(account.processed)
#   kills.hear(event)       # a node is ready: was it the answer?
#   kills.done?             # all were made and answered
#   kills.median            # => 41.7, milliseconds from SIGKILL to readiness; nil without any
module Skep
  module CLI
    class Demo
      class Kills
        # at, answered_at: monotonic seconds; successor: the pid of the replacement.
        Kill = Struct.new(:number, :node, :pid, :at, :successor, :answered_at) do
          def answered? = !answered_at.nil? #: () -> bool
          def milliseconds = answered_at && ((answered_at - at) * 1000) #: () -> Float?
        end

        attr_reader :made #: Array[Kill]

        def initialize(plan, roster) #: (Plan, Roster) -> void
          @plan = plan
          @roster = roster
          @random = plan.seed ? Random.new(plan.seed) : Random.new
          @made = []
        end

        def answered = made.select(&:answered?) #: () -> Array[Kill]
        def done? = made.size == @plan.kills && !waiting? #: () -> bool
        def waiting? = made.any? && !made.last.answered? #: () -> bool

        def due?(processed) #: (Integer) -> bool
          made.size < @plan.kills && !waiting? && processed >= @plan.kill_at(made.size) &&
            @roster.ready.any?
        end

        def strike #: () -> void
          victim = @roster.ready.sample(random: @random)
          at = OS.now
          victim.pidfd.signal(:KILL)
          victim.state = "killed"
          @made << Kill.new(made.size + 1, victim.id, victim.pid, at)
        rescue Errno::ESRCH # it died by itself just now: another one then
          victim.state = "dead"
        end

        def hear(event) #: (Hash[String, untyped]) -> void
          return unless waiting? && answer?(made.last, event)

          made.last.successor = event["pid"]
          made.last.answered_at = event["mono"]
        end

        def median #: () -> Float?
          times = answered.map(&:milliseconds).sort
          return if times.empty?

          (times[(times.size - 1) / 2] + times[times.size / 2]) / 2.0
        end

        private

        def answer?(kill, event)
          event["event"] == "node_ready" && event["node"] == kill.node && event["pid"] != kill.pid
        end
      end
      private_constant :Kills
    end
  end
end
