# frozen_string_literal: true

# A fault that was injected, and how the swarm recovered from it. Times are monotonic seconds.
#
#   fault = Fault.new(kind: :kill, what: "SIGKILL", slot: 3, pid: 42, at: OS.now)
#   fault.observe(event)    # is it the recovery?
#   fault.recovered?
#   fault.milliseconds      # => from the fault until the replacement is ready
#
# `slot` is a node's or spare's id, "helper" or "mold". `cause` is what caused the recovery: a
# signal, "hung", "scale", …
module Skep
  module CLI
    module Chaos
      class Fault < Struct.new(:kind, :what, :slot, :pid, :at, :cause, :recovered_at,
                               keyword_init: true)
        ENDS = %w[node_died node_exited].freeze
        READY = %w[node_ready node_finished spare_ready mold_ready].freeze
        SELF_EVIDENT = %i[mold helper].freeze # their end needn't be reported
        private_constant :ENDS, :READY, :SELF_EVIDENT

        def recovered? = !recovered_at.nil?

        def milliseconds = recovered? ? (recovered_at - at) * 1000 : nil

        # Returns true while a recovery is missing. A leak needs one only if it exceeds a limit.
        def pending? = !recovered? && kind != :leak

        def recover(cause, at = OS.now)
          return if recovered?

          self.cause = cause
          self.recovered_at = at
        end

        # A spare that was given a slot may end after the next spare is ready: both must be seen.
        def observe(event)
          note_end(event) if ENDS.include?(event["event"]) && event["pid"] == pid
          @replaced ||= READY.include?(event["event"]) && slot == event.fetch("node", "mold") &&
                        (event["pid"] != pid || event["event"] == "node_finished")
          return unless kind == :leak ? @end.to_s.match?(/memory|oom/) : over?

          recover(@end || "replaced", event["mono"])
        end

        def to_s
          victim = slot.is_a?(Integer) ? "node #{slot}" : slot
          "#{what}#{" to #{victim}" if victim}#{" (pid #{pid})" if pid}"
        end

        private

        # A node has its mold's title until it sets its own, so a process that was killed as a mold
        # may have been a node.
        def note_end(event)
          @end = event["reason"] || (event["signal"] ? "SIG#{event["signal"]}" : "its exit")
          @end = "its slot was removed" if @end == "scale"
          self.slot = event["node"] if slot == "mold"
        end

        def over?
          return true if @end == "its slot was removed"

          @replaced && (@end || SELF_EVIDENT.include?(kind))
        end
      end
    end
  end
end
