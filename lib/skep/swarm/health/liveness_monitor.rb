# frozen_string_literal: true

# Looks at the nodes' signs of life when, and only when, one of them could be overdue, and asks
# LivenessPolicy and UnhealthyPolicy what it means.
#
#   monitor = LivenessMonitor.new(config, loop:, scoreboard:, events:) { |node, verdict, sign| … }
#   monitor.watch(node)              # done for each that gets ready
#   monitor.complains(node, reason)  # it has said `unhealthy!`
#
# The block is called once a node, with :hung, :repeated or :lasting. After each look it announces
# `liveness_checked` with the time and whether the supervisor was paused before. One timer serves
# all nodes. It is set to the first instant at which a silence would be too long; if the loop is
# awake for something else, the look is done from half of that time on. Idle nodes, be they four or
# a thousand, cost less than two wake-ups a liveness_timeout together.
module Skep
  class Swarm
    module Health
      class LivenessMonitor
        LEAST = 0.02 # seconds between two looks
        private_constant :LEAST

        #: (Definition::Config, **untyped)
        #:   { (Nodes::NodeProcess, Symbol, IPC::Scoreboard::ThreadStatus?) -> void } -> void
        def initialize(config, loop:, scoreboard:, events:, &decide)
          @loop = loop
          @scoreboard = scoreboard
          @events = events
          @decide = decide
          appoint(config.liveness_timeout)
          @watched = {}.compare_by_identity
          @suspects = {}.compare_by_identity
          @looked_at = OS.now
          events.subscribe(:node_ready, :spare_ready) { |event| watch(event.subject) }
          events.subscribe(:node_lost, :node_removed) { |event| forget(event.subject) }
        end

        def watch(node) #: (Nodes::NodeProcess) -> void
          @watched[node] = true
          look_by(OS.now + @liveness.timeout)
        end

        # What its own absence has excused.
        def dump = @pause_compensation.dump #: () -> Hash[String, untyped]
        def restore(plain) = @pause_compensation.restore(plain) #: (Hash[String, untyped]) -> void

        def forget(node) #: (Nodes::NodeProcess) -> void
          @watched.delete(node)
          @suspects.delete(node)
        end

        # Seconds since the node's last beat; nil before the first.
        def age(node, now = OS.now) #: (Nodes::NodeProcess, ?Float) -> Float?
          [now - @scoreboard.of(node).first.at, 0.0].max
        end

        # Why it says that it is unhealthy, unless it made progress since.
        #: (Nodes::NodeProcess) -> String?
        def complaint(node)
          @scoreboard.ill_since(node) && node.unhealthy_reports.reason
        end

        def complains(node, reason, now = OS.now) #: (Nodes::NodeProcess, String, ?Float) -> void
          return unless @watched.key?(node)

          node.unhealthy_reports.add(reason, now)
          reports = @health.count(node.unhealthy_reports.times, now)
          @events.publish(:node_unhealthy, node, level: :warn, reason:, reports:)
          look_by(now + [examine(node, now), @liveness.timeout].compact.min)
        end

        def recovers(node) #: (Nodes::NodeProcess) -> void
          return unless node.unhealthy_reports.any?

          node.unhealthy_reports.clear
          @events.publish(:node_healthy, node)
        end

        private

        def appoint(timeout)
          @liveness = LivenessPolicy.new(timeout:)
          @health = UnhealthyPolicy.new(timeout:)
          @pause_compensation = PauseCompensation.new
        end

        def look_by(due)
          return if @timer&.pending? && @timer.deadline <= due

          @timer&.cancel
          @timer = @loop.at(due, early: [(due - OS.now) / 2, 0].max) { look(due) }
        end

        def look(due)
          now = OS.now
          @watched.select! { |node, _| node.ready? }
          notice_absence(now, now - due)
          seconds = @watched.keys.map { |node| examine(node, now, now - due) }
          @events.announce(:liveness_checked, now:, paused: @liveness.slept?(now - due))
          @looked_at = now
          return if @watched.empty?

          look_by(now + [[*seconds.compact, @liveness.timeout].min, LEAST].max)
        end

        # Have we been stopped, or so slow that the nodes may have been the same?
        def notice_absence(now, late)
          return unless @liveness.slept?(late)

          statuses = @watched.keys.flat_map { |node| @scoreboard.of(node) }
          @pause_compensation.over(@looked_at, now, statuses)
          @suspects.clear
          @events.publish(:supervisor_late, nil, level: :warn, seconds: late.round(3))
        end

        # Seconds until the next look; nil once its verdict is reached.
        def examine(node, now, late = 0.0)
          alive = beats(node, now, late) or return
          ill_since = @scoreboard.ill_since(node)&.then { |time| @pause_compensation.since(time) }
          verdict = @health.verdict(node.unhealthy_reports.times, ill_since, now)
          return decide(node, verdict, nil) if verdict.is_a?(Symbol)

          recover(node, now) unless ill_since
          [alive, verdict].compact.min
        end

        # One that is overdue is suspect first, for a moment.
        def beats(node, now, late)
          scoreboard = @scoreboard.of(node).map { |sign| @pause_compensation.excuse(sign) }
          verdict = @liveness.verdict(scoreboard, now)
          return verdict.tap { @suspects.delete(node) } if verdict.is_a?(Float)

          convicted_at = @suspects[node] ||= now + @liveness.patience(late)
          convicted_at > now ? convicted_at - now : decide(node, :hung, verdict)
        end

        def decide(node, verdict, sign)
          forget(node)
          @decide.call(node, verdict, sign)
          nil
        end

        # It made progress, and has said nothing bad for long enough.
        def recover(node, now)
          recovers(node) if node.unhealthy_reports.any? && @health.count(
node.unhealthy_reports.times, now).zero?
        end
      end
    end
  end
end
