# frozen_string_literal: true

# Looks at the nodes' signs of life when, and only when, one of them could be overdue, and asks
# Liveness and Health what it means.
#
#   watchman = Watchman.new(config, loop:, signs:, tell:, looked:) { |node, verdict, sign| … }
#   watchman.watch(node)              # from its readiness on
#   watchman.forget(node)             # it has ended
#   watchman.complains(node, reason)  # it has said `unhealthy!`
#
# The block is called once a node, with :hung, :repeated or :lasting; looked after each look, with
# the time, and whether we were away before. One timer for all of them, set
# to the first instant at which a silence would be too long; then it looks at all, and from half of
# that time on if the loop is awake for something else. Idle nodes, be they four or a thousand, cost
# less than two wake-ups a liveness_timeout together.
module Skep
  class Swarm
    class Watchman
      LEAST = 0.02 # seconds between two looks
      private_constant :LEAST

      #: (Config, **untyped) { (Node, Symbol, Liveness::Sign?) -> void } -> void
      def initialize(config, loop:, signs:, tell:, looked:, &condemn)
        @loop = loop
        @signs = signs
        @tell = tell
        @looked = looked
        @condemn = condemn
        appoint(config.liveness_timeout)
        @watched = {}.compare_by_identity
        @suspects = {}.compare_by_identity
        @looked_at = OS.now
      end

      def watch(node) #: (Node) -> void
        @watched[node] = true
        look_by(OS.now + @liveness.timeout)
      end

      # What its own absence has excused.
      def keep = @absence.keep #: () -> Hash[String, untyped]
      def recall(plain) = @absence.recall(plain) #: (Hash[String, untyped]) -> void

      def forget(node) #: (Node) -> void
        @watched.delete(node)
        @suspects.delete(node)
      end

      # Seconds since the node's last beat; nil before the first.
      def age(node, now = OS.now) #: (Node, ?Float) -> Float?
        [now - @signs.of(node).first.at, 0.0].max
      end

      # What it complains of, unless it made progress since.
      def ailment(node) = @signs.ill_since(node) && node.complaints.reason #: (Node) -> String?

      def complains(node, reason, now = OS.now) #: (Node, String, ?Float) -> void
        return unless @watched.key?(node)

        node.complaints.add(reason, now)
        reports = @health.count(node.complaints.times, now)
        @tell.call(:node_unhealthy, node, level: :warn, reason:, reports:)
        look_by(now + [examine(node, now), @liveness.timeout].compact.min)
      end

      def recovers(node) #: (Node) -> void
        return unless node.complaints.any?

        node.complaints.clear
        @tell.call(:node_healthy, node)
      end

      private

      def appoint(timeout)
        @liveness = Liveness.new(timeout:)
        @health = Health.new(timeout:)
        @absence = Absence.new
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
        @looked.call(now, @liveness.slept?(now - due))
        @looked_at = now
        return if @watched.empty?

        look_by(now + [[*seconds.compact, @liveness.timeout].min, LEAST].max)
      end

      # Have we been stopped, or so slow that the nodes may have been the same?
      def notice_absence(now, late)
        return unless @liveness.slept?(late)

        @absence.over(@looked_at, now, @watched.keys.flat_map { |node| @signs.of(node) })
        @suspects.clear
        @tell.call(:supervisor_late, nil, level: :warn, seconds: late.round(3))
      end

      # Seconds until it is to be looked at again; nil where it is condemned.
      def examine(node, now, late = 0.0)
        alive = beats(node, now, late) or return
        ill_since = @signs.ill_since(node)&.then { |time| @absence.since(time) }
        verdict = @health.verdict(node.complaints.times, ill_since, now)
        return condemn(node, verdict, nil) if verdict.is_a?(Symbol)

        recover(node, now) unless ill_since
        [alive, verdict].compact.min
      end

      # One that is overdue is suspect first, for a moment.
      def beats(node, now, late)
        signs = @signs.of(node).map { |sign| @absence.excuse(sign) }
        verdict = @liveness.verdict(signs, now)
        return verdict.tap { @suspects.delete(node) } if verdict.is_a?(Float)

        convicted_at = @suspects[node] ||= now + @liveness.patience(late)
        convicted_at > now ? convicted_at - now : condemn(node, :hung, verdict)
      end

      def condemn(node, verdict, sign)
        forget(node)
        @condemn.call(node, verdict, sign)
        nil
      end

      # It made progress, and has said nothing bad for long enough.
      def recover(node, now)
        recovers(node) if node.complaints.any? && @health.count(node.complaints.times, now).zero?
      end
    end
  end
end
