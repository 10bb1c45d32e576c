# frozen_string_literal: true

# When a slot's processes died: those that never got ready (a deploy's fault, or a database's) apart
# from those that died at work.
#
#   deaths = RestartHistory.new
#   deaths.add("work", now, within: 60.0)
#   deaths.times       # => monotonic times within the window, of the kind that came last
#   deaths.counts      # => { "boot" => 0, "work" => 1 }, of all time
module Skep
  class Swarm
    module Nodes
      class RestartHistory
        include Runtime::Persisted

        KEPT = %i[times counts last].freeze

        attr_reader :counts #: Hash[String, Integer]

        def initialize #: () -> void
          @times = { "boot" => [], "work" => [] }
          @counts = { "boot" => 0, "work" => 0 }
          @last = "boot"
        end

        def add(kind, now, within:) #: (String, Float, within: Float) -> void
          @last = kind
          @counts[kind] += 1
          times.shift while times.any? && times.first <= now - within
          times << now
        end

        # So many of the last at work count no more: what caused them is known.
        def forgive(number) = @times["work"].pop(number) #: (Integer) -> void

        def times = @times.fetch(@last) #: () -> Array[Float]
      end

      # How often a slot got a new process, by what had ended the one before.
      #
      #   causes = ExitCauses.new
      #   causes.ended(node, exit)     # no exit: its process lives on as a mold
      #   causes.begun                 # the next one has the slot
      #   causes.counts                # => { "signal" => 2, "restart" => 1 }
      #
      # A reason of ours (`hung`, `memory_limit`, `restart`, … as in docs/events.md) goes before how
      # it ended: `signal`, `failure` (an exit status but 0), `clean`, `unknown`.
      class ExitCauses
        include Runtime::Persisted

        KEPT = %i[counts last].freeze

        attr_reader :counts #: Hash[String, Integer]

        def initialize #: () -> void
          @counts = {}
          @last = nil
        end

        def ended(node, exit) #: (NodeProcess, IPC::ExitStatus?) -> void
          @last = node.reason || (node.pid ? kind(exit) : "fork_failed")
        end

        # Nobody had the slot before the first.
        def begun #: () -> void
          @counts[@last] = @counts.fetch(@last, 0) + 1 if @last
          @last = nil
        end

        def inspect = "#<#{self.class} #{counts}>" #: () -> String

        private

        def kind(exit)
          return "refork" unless exit
          return "signal" if exit.signal
          return "unknown" unless exit.exitstatus

          exit.clean? ? "clean" : "failure"
        end
      end
    end
  end
end
