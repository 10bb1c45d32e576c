# frozen_string_literal: true

# How a node that is hung or unhealthy ends: first what it was doing is found out, then it is ended,
# gently, then by force.
#
#   hang_diagnosis = HangDiagnosis.new(config, loop:, scoreboard:, events:)
#   hang_diagnosis.open(node, :hung, sign)         # LivenessMonitor's verdict
#   hang_diagnosis.add_backtraces(node, threads)   # its own backtraces have come
#
# | when | what |
# |---|---|
# | at once | the kernel is asked what it does (OS::ProcessState), and it for its backtraces |
# | it answers, or a second is over, or half of kill_timeout | the event, and TERM |
# | it answers later | its backtraces are an event of their own, and in the status |
# | kill_timeout after it was overdue | KILL; with `core: true` ABRT, KILL a kill_timeout later |
#
# A stopped process can't answer, and isn't waited for. Of a node that ends before, what is known is
# published.
# It never waits: what doesn't come in time isn't told.
module Skep
  class Swarm
    module Health
      class HangDiagnosis
        # Where a thread never lets Ruby's lock go it is handed on ten times a second, and an answer
        # takes it some four times.
        TESTIMONY_SECONDS = 1.0
        MOST_PATIENCE = 0.05
        EVENTS = { hung: :node_hung, repeated: :node_unhealthy, lasting: :node_unhealthy }.freeze
        private_constant :TESTIMONY_SECONDS, :MOST_PATIENCE, :EVENTS

        Diagnosis = Struct.new(:verdict, :facts, :timer)
        private_constant :Diagnosis

        #: (Definition::Config, **untyped) -> void
        def initialize(config, loop:, scoreboard:, events:)
          @config = config
          @loop = loop
          @scoreboard = scoreboard
          @liveness = LivenessPolicy.new(timeout: config.liveness_timeout)
          @events = events
          @cases = {}.compare_by_identity
        end

        #: (Nodes::NodeProcess, Symbol, IPC::Scoreboard::ThreadStatus?) -> void
        def open(node, verdict, sign)
          state = node.pid && OS::ProcessState.of(node.pid)
          node.channel.post("backtraces", { "hung" => true })
          found = Diagnosis.new(verdict, facts(node, verdict, sign, state))
          @cases[node] = found
          @subscription ||= @events.subscribe(:node_lost) { |event| report(event.subject) }
          execute_later(node, @config.kill_timeout - patience(sign))
          return conclude(node) if state&.stopped?

          found.timer = @loop.after(testimony_seconds) { conclude(node) }
          node.watches << found.timer
        end

        #: (Nodes::NodeProcess, Array[Hash[String, untyped]]) -> void
        def add_backtraces(node, threads)
          found = @cases[node] or return add_late_backtraces(node, threads)
          found.facts[:threads] = threads
          found.timer.cancel
          conclude(node)
        end

        def open?(node) = @cases.key?(node) #: (Nodes::NodeProcess) -> bool

        private

        # What it took to be sure is no time of its own.
        def patience(sign)
          most = [MOST_PATIENCE, @config.kill_timeout / 10].min
          sign ? @liveness.overdue(sign, OS.now).clamp(0.0, most) : 0.0
        end

        def testimony_seconds = [TESTIMONY_SECONDS, @config.kill_timeout / 2].min
        def reason(verdict) = verdict == :hung ? "hung" : "unhealthy"

        def facts(node, verdict, sign, state)
          thread = sign&.thread
          { beat_age: sign && (OS.now - sign.at).round(3), thread: thread&.positive? ? thread : nil,
            in_hand: @scoreboard.in_hand(node, thread || 0), **complaint(node, verdict),
            **(state ? state.to_plain : {}) }.compact
        end

        def complaint(node, verdict)
          return {} if verdict == :hung

          { verdict:, reason: node.unhealthy_reports.reason,
            reports: node.unhealthy_reports.times.size }
        end

        def add_late_backtraces(node, threads)
          return unless node.terminated?

          node.slot.last_hang[:threads] = threads if node.slot.last_hang
          @events.publish(:node_backtraces, node, threads:)
        end

        def conclude(node)
          found = @cases[node] or return
          report(node)
          node.terminate(reason(found.verdict))
        end

        def report(node)
          found = @cases.delete(node) or return
          @subscription = @events.unsubscribe(@subscription) if @cases.empty?
          node.slot.last_hang = { pid: node.pid, at: OS.now, why: reason(found.verdict),
                                  **found.facts }
          @events.publish(EVENTS.fetch(found.verdict), node, level: :error, **found.facts)
        end

        def execute_later(node, seconds)
          reason = reason(@cases[node].verdict)
          node.watches << @loop.after(seconds) do
            next node.kill(reason) unless @config.core

            dump(node, reason)
            node.watches << @loop.after(@config.kill_timeout) { node.kill(reason) }
          end
        end

        # A stopped process dumps once it is let go on, before any instruction of its own.
        def dump(node, reason)
          node.kill(reason, :ABRT)
          node.kill(reason, :CONT)
        end
      end
    end
  end
end
