# frozen_string_literal: true

# Checks the nodes' heartbeats on the scoreboard, and calls its block for each node that
# LivenessPolicy or UnhealthyPolicy considers failed.
#
#   monitor = LivenessMonitor.new(config, loop:, scoreboard:, events:) { |node, failure, status| … }
#   monitor.watch(node)                      # called for each node that becomes ready
#   monitor.report_unhealthy(node, reason)   # the node has called `unhealthy!`
#
# The block is called once for a node, with :hung, :repeated or :lasting; in the supervisor it is
# HungNodeKiller#start, which ends the node. After each check the monitor announces
# `liveness_checked`, with the time and whether the supervisor was paused before.
#
# One timer serves all nodes. It fires when the first heartbeat could be overdue. If the loop is
# awake anyway in the second half of that time, the check runs then. So idle nodes cost less than
# two wake-ups in a liveness_timeout, whether there are four or a thousand.
module Skep
  class Swarm
    module Health
      class LivenessMonitor
        MIN_INTERVAL = 0.02 # seconds between two checks
        PRUNE_AT = 16 # nodes watched
        private_constant :MIN_INTERVAL, :PRUNE_AT

        def initialize(config, loop:, scoreboard:, events:, &on_failure)
          @loop = loop
          @scoreboard = scoreboard
          @events = events
          @on_failure = on_failure
          build_policies(config.liveness_timeout)
          @watched = {}.compare_by_identity # by node, until when an overdue one has grace
          @prune_at = PRUNE_AT
          @checked_at = OS.now
          events.subscribe(:node_ready, :spare_ready) { |event| watch(event.subject) }
        end

        def watch(node)
          prune if @watched.size >= @prune_at
          @watched[node] = nil
          check_by(OS.now + @liveness.timeout)
        end

        # Returns the seconds since the node's last heartbeat; since it was ready before the first.
        def age(node, now = OS.now)
          [now - @scoreboard.of(node).first.at, 0.0].max
        end

        # Returns the reason of the last `unhealthy!`; nil if the node made progress since.
        def unhealthy_reason(node)
          @scoreboard.unhealthy_since(node) && node.unhealthy_reports.reason
        end

        def report_unhealthy(node, reason, now = OS.now)
          return unless beats?(node) && @watched.key?(node)

          node.unhealthy_reports.add(reason, now)
          reports = @unhealthy_policy.count(node.unhealthy_reports.times, now)
          @events.publish(:node_unhealthy, node, level: :warn, error: reason, reports:)
          check_by(now + [check_node(node, now), @liveness.timeout].compact.min)
        end

        def report_healthy(node)
          return unless node.unhealthy_reports.any?

          node.unhealthy_reports.clear
          @events.publish(:node_healthy, node)
        end

        private

        def build_policies(timeout)
          @liveness = LivenessPolicy.new(timeout:)
          @unhealthy_policy = UnhealthyPolicy.new(timeout:)
          @pause_compensation = PauseCompensation.new
        end

        def check_by(due)
          return if @timer&.pending? && @timer.deadline <= due

          @timer&.cancel
          @timer = @loop.at(due, early: [(due - OS.now) / 2, 0].max) { check(due) }
        end

        # The next check comes even if this one fails: without it no hang would be found any more.
        def check(due)
          now = OS.now
          seconds = []
          prune
          compensate_pause(now, now - due)
          seconds = @watched.keys.map { |node| check_node(node, now, now - due) }
          @events.announce(:liveness_checked, now:, paused: @liveness.paused?(now - due))
        ensure
          @checked_at = now
          next_in = [[*seconds.compact, @liveness.timeout].min, MIN_INTERVAL].max
          check_by(now + next_in) if @watched.any?
        end

        # Nodes that have ended are dropped at each check, and before that when they may be half of
        # those watched: a check may be half a minute away, and a crash loop ends many until then.
        def prune
          @watched.select! { |node, _| beats?(node) }
          @prune_at = [2 * @watched.size, PRUNE_AT].max
        end

        # Returns true for a node that has to beat: none that has ended, or is about to.
        def beats?(node) = node.ready? && !node.lost?

        # If this check comes so late that the supervisor was stopped or starved, the nodes may have
        # been, too: extends their deadlines.
        def compensate_pause(now, late)
          return unless @liveness.paused?(late)

          statuses = @watched.keys.flat_map { |node| @scoreboard.of(node) }
          @pause_compensation.extend_deadlines(@checked_at, now, statuses)
          @watched.transform_values! { nil }
          @events.publish(:supervisor_late, nil, level: :warn, duration: late.round(3))
        end

        # Returns the seconds until the next check; nil if the node has failed.
        def check_node(node, now, late = 0.0)
          seconds = check_heartbeats(node, now, late) or return
          unhealthy_since = @scoreboard.unhealthy_since(node)
          unhealthy_since &&= @pause_compensation.since(unhealthy_since)
          health = @unhealthy_policy.decide(node.unhealthy_reports.times, unhealthy_since, now)
          return fail_node(node, health, nil) if health.is_a?(Symbol)

          clear_old_reports(node, now) unless unhealthy_since
          [seconds, health].compact.min
        end

        # An overdue node has a short grace period before it is considered hung.
        def check_heartbeats(node, now, late)
          statuses = @scoreboard.of(node).map { |status| @pause_compensation.apply(status) }
          liveness = @liveness.decide(statuses, now)
          return liveness.tap { @watched[node] = nil } if liveness.is_a?(Float)

          grace_until = @watched[node] ||= now + @liveness.grace(late)
          grace_until > now ? grace_until - now : fail_node(node, :hung, liveness)
        end

        def fail_node(node, failure, status)
          @watched.delete(node)
          @on_failure.call(node, failure, status)
          nil
        rescue StandardError # a bug of skep's, which the loop reports: the node is looked at again
          @watched[node] = nil
          raise
        end

        # Called when the node has made progress: once its reports are too old to count, it is
        # healthy.
        def clear_old_reports(node, now)
          reports = node.unhealthy_reports
          report_healthy(node) if reports.any? && @unhealthy_policy.count(reports.times, now).zero?
        end
      end
    end
  end
end
