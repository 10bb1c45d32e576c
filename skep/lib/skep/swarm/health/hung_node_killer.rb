# frozen_string_literal: true

# Reports what a hung or unhealthy node was doing, then ends it: TERM first, KILL later.
#
#   hung_node_killer = HungNodeKiller.new(loop:, scoreboard:, events:)
#   hung_node_killer.start(node, :hung, status)      # LivenessMonitor found that the node hangs
#   hung_node_killer.add_backtraces(node, threads)   # the node has sent its backtraces
#   hung_node_killer.publish(node)                   # it has died before that
#
# | when | what |
# |---|---|
# | at once | reads the kernel's view of the process (OS::ProcessState), requests its backtraces |
# | backtraces arrive, or 1 s or half of kill_timeout is over | publishes the event, sends TERM |
# | backtraces arrive later | publishes node_backtraces, adds them to the status |
# | kill_timeout after the missed deadline | KILL |
#
# A process stopped by a signal can't send its backtraces, so its event is published at once. If the
# node dies first, the event has what is known by then. Nothing here blocks the supervisor's loop.
module Skep
  class Swarm
    module Health
      class HungNodeKiller
        # A thread that never releases the GVL loses it every 100 ms, and the control thread needs
        # about four turns to send its backtraces.
        BACKTRACE_SECONDS = 1.0
        MAX_OVERDUE = 0.05
        EVENTS = { hung: :node_hung, repeated: :node_unhealthy, lasting: :node_unhealthy }.freeze
        SLOW = "Work that is slow, but not stuck, needs node.busy(for: seconds), or node.beat " \
               "between its steps"
        private_constant :BACKTRACE_SECONDS, :MAX_OVERDUE, :EVENTS, :SLOW

        Diagnosis = Struct.new(:failure, :facts, :timer)
        private_constant :Diagnosis

        def initialize(loop:, scoreboard:, events:)
          @loop = loop
          @scoreboard = scoreboard
          @events = events
        end

        # failure: :hung, or :repeated or :lasting of UnhealthyReports. status: of the hung thread.
        def start(node, failure, status)
          state = node.pid && OS::ProcessState.of(node.pid)
          node.channel.post("backtraces", { "hung" => true })
          diagnosis = Diagnosis.new(failure, facts(node, failure, status, state))
          node.diagnosis = diagnosis
          kill_later(node, node.options.kill_timeout - overdue_seconds(node, status))
          return finish(node) if state&.stopped?

          diagnosis.timer = @loop.after(backtrace_seconds(node)) { finish(node) }
          node.watches << diagnosis.timer
        end

        def add_backtraces(node, threads)
          diagnosis = node.diagnosis or return add_late_backtraces(node, threads)
          facts = diagnosis.facts
          facts[:threads] = hung_first(threads, facts[:thread])
          facts[:state] = hung_task(facts)&.fetch(:state) || facts[:state] if facts[:thread]
          diagnosis.timer.cancel
          finish(node)
        end

        def publish(node)
          diagnosis, node.diagnosis = node.diagnosis, nil
          failure, facts = diagnosis.failure, Redaction.of(diagnosis.facts)
          node.slot.last_hang = { pid: node.pid, at: OS.now, reason: reason(failure), **facts }
          @events.publish(EVENTS.fetch(failure), node, level: :error,
                          **facts, hint: (SLOW if failure == :hung))
        end

        private

        # kill_timeout counts from the deadline that the node missed, so the time that it took to
        # detect the hang is subtracted, but no more than 50 ms or a tenth of kill_timeout.
        def overdue_seconds(node, status)
          return 0.0 unless status

          liveness = LivenessPolicy.new(timeout: node.options.liveness_timeout)
          most = [MAX_OVERDUE, node.options.kill_timeout / 10].min
          liveness.overdue(status, OS.now).clamp(0.0, most)
        end

        def backtrace_seconds(node) = [BACKTRACE_SECONDS, node.options.kill_timeout / 2].min
        def reason(failure) = failure == :hung ? "hung" : "unhealthy"

        def facts(node, failure, status, state)
          thread = status&.thread
          { beat_age: status && (OS.now - status.at).round(3),
            thread: thread&.positive? ? thread : nil,
            in_flight: @scoreboard.in_flight(node, thread || 0), **unhealthy_facts(node, failure),
            **(state ? state.to_plain : {}) }.compact
        end

        def unhealthy_facts(node, failure)
          return {} if failure == :hung

          { verdict: failure, error: node.unhealthy_reports.reason,
            reports: node.unhealthy_reports.size }
        end

        # A source names its threads after their numbers: skep.KIND.worker.2.
        def hung_first(threads, number)
          threads.partition { |thread| named?(thread, number) }.flatten(1)
        end

        def named?(thread, number) = number && thread["name"].end_with?(".#{number}")

        # The kernel's view of the hung thread; nil if that isn't known.
        def hung_task(facts)
          first = facts[:threads].first
          return unless first && first["tid"] && named?(first, facts[:thread])

          facts[:tasks]&.find { |task| task[:tid] == first["tid"] }
        end

        def add_late_backtraces(node, threads)
          return unless node.terminated?

          threads = Redaction.of(threads)
          node.slot.last_hang[:threads] = threads if node.slot.last_hang
          @events.publish(:node_backtraces, node, threads:)
        end

        def finish(node)
          diagnosis = node.diagnosis or return
          publish(node)
          node.terminate(reason(diagnosis.failure))
        end

        def kill_later(node, seconds)
          reason = reason(node.diagnosis.failure)
          node.watches << @loop.after(seconds) { node.kill(reason) }
        end
      end
    end
  end
end
