# frozen_string_literal: true

# What follows a node's end in its seat: the next process at once, after a while, or none.
#
#   succession = Succession.new(config, seats:, boots:, tell:, spares:, over: ->(outcome) { … })
#   succession.after(seat, node)
#   succession.anticipate(node)   # it is gone, how isn't known yet: who follows may begin
#   succession.outlive(node)      # it is ready: when it has outlived the window its loop is over
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

      def initialize(config, loop:, seats:, boots:, tell:, over:, spares:)
        @config = config
        @loop = loop
        @seats = seats
        @boots = boots
        @tell = tell
        @over = over
        @spares = spares
        @policy = RestartPolicy.new(config)
      end

      def after(seat, node) #: (Seat, Node) -> void
        return @boots.later(seat, delay(seat, HELPER_RETRY)) if seat.helper? || seat.spare?
        return postpone(seat, node, delay(seat, REFUSED_RETRY)) if refused?(seat)

        case (verdict = @policy.verdict(ending(seat), OS.now))
        when :done then done(seat, node)
        when :give_up then give_up(seat, node)
        when 0.0 then @spares.offer(seat) || @boots.enqueue(seat)
        else back_off(seat, node, verdict)
        end
        @boots.pump
      end

      def anticipate(node) #: (Node) -> void
        return unless certain?(node.seat, node)

        node.seat.follow
        @boots.enqueue(node.seat)
      end

      def outlive(node) #: (Node) -> void
        return unless node.seat.looping?

        node.watches << @loop.at(node.ready_at + @config.restarts_within) do
          node.seat.looping = false
          @tell.call(:crash_loop_over, node)
        end
      end

      private

      # Is it followed by a fork, at once, however it ended?
      def certain?(seat, node)
        seat.nodes == [node] && node.ready? && node.reason.nil? && !seat.claim.possible? &&
          @config.restart == :always && @config.restart_never_status.nil? &&
          @policy.at_once?(seat.deaths.times, OS.now)
      end

      def refused?(seat) = seat.refusal && @config.restart != :never

      def ending(seat)
        RestartPolicy::Ending.new(deaths: seat.deaths.times, clean: seat.clean?,
                                  exitstatus: seat.last_exit.exitstatus)
      end

      # How long the policy lets a seat wait, and at least so many seconds.
      def delay(seat, least) = [@policy.delay(seat.deaths.times, OS.now), least].max

      def back_off(seat, node, seconds)
        crash_loop(seat, node) unless seat.looping?
        seat.looping = true
        postpone(seat, node, seconds)
      end

      def crash_loop(seat, node)
        @tell.call(:crash_loop, node, level: :error, deaths: seat.deaths.times.size,
                                      at: node.kind_of_death, seconds: @config.restarts_within)
      end

      def postpone(seat, node, seconds)
        @tell.call(:node_waiting, node, level: :warn, seconds: seconds.round(3),
                                        deaths: seat.deaths.times.size)
        @boots.later(seat, seconds)
      end

      def done(seat, node)
        @tell.call(:node_done, node)
        seat.done
        return if @seats.any? { |other| other.live? || other.waiting? }

        @over.call(@seats.all? { |other| other.last_exit.nil? || other.clean? } ? :done : :unclean)
      end

      def give_up(seat, node)
        crash_loop(seat, node)
        @over.call(:gave_up)
      end
    end
  end
end
