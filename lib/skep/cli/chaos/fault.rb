# frozen_string_literal: true

# A fault that was injected, and how the swarm recovered from it. Times are monotonic seconds.
#
#   fault = Fault.new(:kill, "SIGKILL", node: 3, pid: 42, at: OS.now)
#   fault.observe(event)   # is it the recovery?
#   fault.recovered?
#   fault.milliseconds     # => from the fault until the replacement is ready
module Skep
  module CLI
    module Chaos
      class Fault
        ENDS = %w[node_died node_exited].freeze
        private_constant :ENDS

        attr_reader :kind, :node, :pid

        # What caused the recovery: a signal, "hung", "scale", …
        attr_reader :cause

        def initialize(kind, what, at:, node: nil, pid: nil)
          @kind = kind
          @what = what
          @node = node
          @pid = pid
          @at = at
        end

        def recovered? = !@recovered_at.nil?
        def milliseconds = recovered? ? (@recovered_at - @at) * 1000 : nil

        # Returns true while a recovery is missing. A leak needs one only if it exceeds a limit.
        def pending? = !recovered? && @kind != :leak

        def recover(cause, at = OS.now)
          return if recovered?

          @cause = cause
          @recovered_at = at
        end

        def observe(event)
          note_end(event) if ENDS.include?(event["event"]) && event["pid"] == @pid
          return recover("its slot was removed", event["mono"]) if @end_cause == "scale"
          return observe_spare(event) if spare?

          recover(@end_cause || "replaced", event["mono"]) if recovery?(event)
        end

        def to_s = "#{@what}#{victim}#{" (pid #{@pid})" if @pid}"

        private

        def spare? = @node.to_s.start_with?("spare ")

        # @what names the helper already.
        def victim
          return " to #{@node}" if spare?

          " to node #{@node}" if @node && @node != "helper"
        end

        # A spare's fault is over once its process has ended and another one waits in its place. If
        # it was given a slot meanwhile, it ends later than the other one is ready.
        def observe_spare(event)
          follows = event["event"] == "spare_ready" && event["node"] == @node
          @followed ||= follows && event["pid"] != @pid
          recover(@end_cause, event["mono"]) if @end_cause && @followed
        end

        # A node has its mold's title until it sets its own, so a process that was killed as a mold
        # may have been a node.
        def note_end(event)
          @end_cause ||= event["reason"] || (event["signal"] ? "SIG#{event["signal"]}" : "its exit")
          @node ||= event["node"]
        end

        def recovery?(event)
          if @kind == :mold && @node.nil?
            return event["event"] == "mold_ready" && event["pid"] != @pid
          end
          return @end_cause.to_s.match?(/memory|oom/) if @kind == :leak
          return false if @node.nil? || event["node"] != @node

          ready = event["event"] == "node_ready" && event["pid"] != @pid
          ready || event["event"] == "node_finished"
        end
      end
    end
  end
end
