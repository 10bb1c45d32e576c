# frozen_string_literal: true

# One harm that was done, and what was heard of it. Times are monotonic seconds.
#
#   deed = Deed.new(:kill, "SIGKILL", node: 3, pid: 42, at: OS.now)
#   deed.hear(event)       # is it the answer?
#   deed.answered?
#   deed.milliseconds      # => from the harm to the replacement's readiness
module Skep
  module CLI
    class Chaos
      class Deed
        ENDS = %w[node_died node_exited].freeze
        private_constant :ENDS

        attr_reader :kind #: Symbol
        attr_reader :what #: String
        attr_reader :node #: Integer | String | nil
        attr_reader :pid #: Integer?
        attr_reader :by #: String?, what answered it

        #: (Symbol, String, ?node: untyped, ?pid: Integer?, at: Float) -> void
        def initialize(kind, what, at:, node: nil, pid: nil)
          @kind = kind
          @what = what
          @node = node
          @pid = pid
          @at = at
        end

        def answered? = !@answered_at.nil? #: () -> bool
        def milliseconds = answered? ? (@answered_at - @at) * 1000 : nil #: () -> Float?

        # A leak is answered only where there is a limit to it.
        def owed? = !answered? && @kind != :leak #: () -> bool

        def answer(by, at = OS.now) #: (String, ?Float) -> void
          return if answered?

          @by = by
          @answered_at = at
        end

        def hear(event) #: (Hash[String, untyped]) -> void
          died(event) if ENDS.include?(event["event"]) && event["pid"] == @pid
          return answer("its slot went", event["mono"]) if @cause == "scale"

          answer(@cause || "replaced", event["mono"]) if answer?(event)
        end

        def to_s = "#{@what}#{" to node #{@node}" if @node}#{" (pid #{@pid})" if @pid}"

        private

        # A node has the title of its mold until it sets its own: the process that was killed as a
        # mold may have been such a node.
        def died(event)
          @cause ||= cause(event)
          @node ||= event["node"]
        end

        def answer?(event)
          if @kind == :mold && @node.nil?
            return event["event"] == "mold_ready" && event["pid"] != @pid
          end
          return @cause.to_s.match?(/memory|oom/) if @kind == :leak
          return false if @node.nil? || event["node"] != @node

          ready = event["event"] == "node_ready" && event["pid"] != @pid
          ready || event["event"] == "node_finished"
        end

        def cause(event)
          event["reason"] || (event["signal"] ? "SIG#{event["signal"]}" : "its exit")
        end
      end
      private_constant :Deed
    end
  end
end
