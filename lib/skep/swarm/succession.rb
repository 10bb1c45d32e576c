# frozen_string_literal: true

# What follows a node's end: the next process at once, after a while, or none.
#
#   succession = Succession.new(config, nodes:, boots:, tell:, over: ->(outcome) { … })
#   succession.after(node, exit)
#
# RestartPolicy judges; this does. `over` is called with :done or :unclean when all work has ended
# by itself, and with :gave_up on a crash loop that is to stop the swarm.
module Skep
  class Swarm
    class Succession
      # Seconds, where a node said that it can't begin: no crash, so it is tried for ever.
      REFUSED_RETRY = 1.0
      HELPER_RETRY = 0.1
      private_constant :REFUSED_RETRY, :HELPER_RETRY

      def initialize(config, nodes:, boots:, tell:, over:)
        @config = config
        @nodes = nodes
        @boots = boots
        @tell = tell
        @over = over
        @policy = RestartPolicy.new(config)
      end

      def after(node, exit) #: (Node, Exit) -> void
        return @boots.later(node, delay(node, HELPER_RETRY)) if node.helper?
        return postpone(node, delay(node, REFUSED_RETRY)) if refused?(node)

        case (verdict = @policy.verdict(ending(node, exit), OS.now))
        when :done then done(node)
        when :give_up then give_up(node)
        when 0.0 then @boots.enqueue(node)
        else postpone(node, verdict)
        end
        @boots.pump
      end

      private

      def refused?(node) = node.refusal && @config.restart != :never

      def ending(node, exit)
        RestartPolicy::Ending.new(deaths: node.deaths, clean: node.clean?,
                                  exitstatus: exit.exitstatus)
      end

      # How long the policy lets a node wait, and at least so many seconds.
      def delay(node, least) = [@policy.delay(node.deaths, OS.now), least].max

      def postpone(node, seconds)
        @tell.call(:node_waiting, node, level: :warn, seconds: seconds.round(3),
                                        deaths: node.deaths.size)
        @boots.later(node, seconds)
      end

      def done(node)
        @tell.call(:node_done, node)
        node.done
        return if @nodes.any? { |other| other.live? || other.waiting? }

        @over.call(@nodes.all? { |other| other.last_exit.nil? || other.clean? } ? :done : :unclean)
      end

      def give_up(node)
        @tell.call(:crash_loop, node, level: :error, deaths: node.deaths.size,
                                      seconds: @config.restarts_within)
        @over.call(:gave_up)
      end
    end
  end
end
