# frozen_string_literal: true

# Checks the nodes' heartbeats on the scoreboard, and calls its block for each node that
# LivenessPolicy or its UnhealthyReports consider failed.
#
#   monitor = LivenessMonitor.new(config, loop:, scoreboard:, node_table:, events:, &end_node)
#   monitor.report_unhealthy(node, reason)   # the node has called `unhealthy!`
#
# The block is called once for a node, with :hung, :repeated or :lasting, and the status of a hung
# thread; in the supervisor it is HungNodeKiller#start, which ends the node.
#
# Each work has its own liveness_timeout; without one its nodes may be unhealthy, and never hang.
#
# One timer serves all nodes. It fires when the first heartbeat could be overdue: no heartbeat of a
# node that becomes ready meanwhile can be overdue before that. If the loop is
# awake anyway in the second half of that time, the check runs then. So idle nodes cost some two
# wake-ups in a liveness_timeout, whether there are four or a thousand.
#
# A thread that has made no progress for half of the time is slow (`slow`): its node is asked where
# it stands, once a second. No node is ended for that, but the status shows it.
module Skep
  class Swarm
    module Health
      class LivenessMonitor
        MIN_INTERVAL = 0.02 # seconds between two checks
        SLOW_INTERVAL = 1.0 # while a thread is slow: between two looks at where it stands
        private_constant :MIN_INTERVAL, :SLOW_INTERVAL

        def initialize(config, loop:, scoreboard:, node_table:, events:, &on_failure)
          @config = config
          @loop = loop
          @scoreboard = scoreboard
          @node_table = node_table
          @events = events
          @on_failure = on_failure
          timeouts = [config, *config.works].map(&:beats_within).uniq
          @policies = timeouts.to_h { |timeout| [timeout, LivenessPolicy.new(timeout:)] }
          @shortest = timeouts.min
          @checked_at = OS.now
          check_by(@checked_at + @shortest)
        end

        # Returns the seconds since the node's last heartbeat; since it was ready before the first.
        def age(node, now = OS.now)
          [now - @scoreboard.of(node).first.at, 0.0].max
        end

        # Returns the IPC::Scoreboard::ThreadStatus of the threads that have made no progress for
        # half of the liveness_timeout of the node's work. Of a node that stops or is being ended,
        # those with something in flight.
        def slow(node, now = OS.now)
          return [] if node.lost? || !node.ready_at || node.stepping_in?
          return [] unless node.options.liveness_timeout

          slow = @scoreboard.of(node).reject do |status|
            policy(node).seconds_to_slow(status, now).positive?
          end
          beats?(node) ? slow : slow.select { |status| @scoreboard.item(node, status.thread) }
        end

        # Returns since when the node is unhealthy, in monotonic seconds; nil: it isn't.
        def unhealthy_since(node) = @scoreboard.unhealthy_since(node)

        # Returns the reason of the last `unhealthy!`; nil if the node made progress since.
        def unhealthy_reason(node)
          @scoreboard.unhealthy_since(node) && node.unhealthy_reports.reason
        end

        def report_unhealthy(node, reason, now = OS.now)
          return unless beats?(node)

          node.unhealthy_reports.add(reason, now)
          reports = node.unhealthy_reports.count(now, policy(node).timeout)
          @events.publish(:node_unhealthy, node, level: :warn, error: reason, reports:)
          check_by(now + [check_node(node, now), @shortest].compact.min)
        end

        def report_healthy(node)
          return unless node.unhealthy_reports.any?

          node.unhealthy_reports.clear
          @events.publish(:node_healthy, node)
        end

        private

        # A spare that is stepping in still beats as the swarm asks for, not as the work that it is
        # given.
        def policy(node)
          options = node.stepping_in? ? @config : node.options
          @policies.fetch(options.beats_within)
        end

        def check_by(due)
          return if @timer&.pending? && @timer.deadline <= due

          @timer&.cancel
          @timer = @loop.at(due, early: [(due - OS.now) / 2, 0].max) { check(due) }
        end

        # The next check comes even if there is an error in this one: without it no hang would be
        # found any more.
        def check(due)
          now = OS.now
          check_by(now + @shortest)
          nodes = @node_table.nodes.select { |node| beats?(node) }
          compensate_pause(nodes, now, now - due)
          @checked_at = now
          seconds = nodes.filter_map { |node| check_node(node, now, now - due) }
          check_by(now + [*seconds, @shortest].min.clamp(MIN_INTERVAL..))
        end

        def beats?(node) = node.ready? && !node.lost? && !node.failing?

        # If this check comes so late that the supervisor was stopped or starved, the nodes may have
        # been, too: extends their deadlines.
        def compensate_pause(nodes, now, late)
          paused = @policies.each_value.select { |policy| policy.paused?(late) }
          return if paused.empty?

          paused.each do |policy|
            own = nodes.select { |node| policy(node).equal?(policy) }
            statuses = own.flat_map { |node| @scoreboard.of(node) }
            policy.extend_deadlines(@checked_at, now, statuses)
            own.each { |node| node.grace_until = nil }
          end
          @events.publish(:supervisor_late, nil, level: :warn, duration: late.round(3))
        end

        # Returns the seconds until the next check; nil if the node has failed.
        def check_node(node, now, late = 0.0)
          policy = policy(node)
          seconds = check_heartbeats(node, policy, now, late) or return
          unhealthy_since = @scoreboard.unhealthy_since(node)
          unhealthy_since &&= policy.since(unhealthy_since)
          health = node.unhealthy_reports.verdict(unhealthy_since, now, policy.timeout)
          return fail_node(node, health, nil) if health.is_a?(Symbol)

          clear_old_reports(node, now) unless unhealthy_since
          [seconds, health, look_for_slow_threads(node, policy, now)].compact.min
        end

        # Asks a node with a slow thread where its threads stand. Returns the seconds until the next
        # look: something may go in flight at any time. (An idle node's own beat is never that old.)
        def look_for_slow_threads(node, policy, now)
          return unless node.options.liveness_timeout

          left = @scoreboard.of(node).to_h do |status|
            [status.thread, policy.seconds_to_slow(status, now)]
          end
          later = left.select { |thread, seconds| thread.positive? && seconds.positive? }
          return [*later.values, policy.timeout / 2].min if left.each_value.all?(&:positive?)

          interval = [SLOW_INTERVAL, policy.timeout / 2].min
          node.ask_for_lines(every: interval)
          interval
        end

        # An overdue node has a short grace period before it is considered hung.
        def check_heartbeats(node, policy, now, late)
          return policy.timeout unless node.options.liveness_timeout

          overdue = policy.decide(@scoreboard.of(node), now)
          if overdue.is_a?(Float) # seconds that are left
            node.grace_until = nil
            return overdue
          end

          node.grace_until ||= now + policy.grace(late)
          left = node.grace_until - now
          left.positive? ? left : fail_node(node, :hung, overdue)
        end

        def fail_node(node, failure, status)
          @on_failure.call(node, failure, status)
          node.failing!(failure)
          nil
        end

        # Called when the node has made progress: once its reports are too old to count, it is
        # healthy.
        def clear_old_reports(node, now)
          reports = node.unhealthy_reports
          report_healthy(node) if reports.any? && reports.count(now, policy(node).timeout).zero?
        end
      end
    end
  end
end
