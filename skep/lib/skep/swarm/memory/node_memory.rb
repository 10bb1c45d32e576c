# frozen_string_literal: true

# The memory of one node, as the supervisor knows it: the node's last measurement, and what has
# changed since.
#
#   node_memory = NodeMemory.new(now, lifetime: 3600.0)   # nil: without end
#   node_memory.measured(at, sample)     # the node has counted its pages; {}: it couldn't
#   node_memory.seen(statm, now)         # what the supervisor has read; nil: it couldn't
#   node_memory.uss_min                  # lower bound of its USS in bytes; uss_max is the upper
#   node_memory.to_plain(now)            # for `skep status`
#
# A new anonymous page is private, and a shared page that becomes private by a write was anonymous
# before. So since a measurement USS has grown by at least as much as anonymous memory has. That
# also holds for a node that is stuck and doesn't measure itself any more.
module Skep
  class Swarm
    module Memory
      class NodeMemory
        YOUNG = 10.0 # seconds
        private_constant :YOUNG

        attr_reader :ready_at
        attr_reader :expires_at # when it reaches max_lifetime
        # The highest USS while the node was young, which a successor will use, too.
        attr_reader :young_uss
        # Its growth between the last two looks, or half of the rate before; bytes per second.
        attr_reader :rate
        # True once the node is stopped for its memory without waiting for a successor.
        attr_accessor :stop_requested

        def initialize(now, lifetime: nil)
          @ready_at = @seen_at = now
          @expires_at = now + (lifetime || Float::INFINITY)
          @young_uss = 0
          @rate = 0.0
        end

        # Ignores a sample that it has already.
        def measured(at, sample)
          return if @answered_at && at <= @answered_at

          @answered_at = at
          @sample, @measured_at = sample, at if sample.any?
        end

        # Returns true if the node has counted its pages since then, or has said that it can't.
        def answered?(since:) = !@answered_at.nil? && @answered_at >= since

        # Returns true once the node has counted its pages.
        def measured? = !@sample.nil?

        def seen(statm, now)
          update_rate(statm, now)
          @statm = statm
          @first ||= statm
          @seen_at = now
          @young_uss = [@young_uss, uss_min].max if now - @ready_at < YOUNG
        end

        # Returns the USS of the last measurement, plus the growth since. Before the first
        # measurement it is the growth since the first look.
        def uss_min
          return measured? ? @sample["uss"] : 0 unless @statm
          return [@statm.anonymous - @first.anonymous, 0].max unless measured?

          [@sample["uss"] + @statm.anonymous - @sample["anonymous"], 0].max
        end

        # Returns resident memory, shared or not.
        def uss_max = @statm&.rss || @sample&.fetch("rss") || 0

        # Returns the seconds in which it reaches so many bytes as it grows now.
        def seconds_to(bytes) = rate.positive? ? (bytes - uss_min) / rate : Float::INFINITY

        # Returns the bytes now, estimated from the last measurement, and the seconds since it. They
        # are nil before the first measurement.
        def to_plain(now)
          return { rss: uss_max, **NOT_MEASURED } unless measured?

          uss = [uss_min, uss_max].min
          { rss: uss_max, pss: [@sample["pss"] + uss - @sample["uss"], uss].max, uss:,
            shared: uss_max - uss, swap: @sample["swap"], measured: (now - @measured_at).round(3) }
        end

        NOT_MEASURED = { pss: nil, uss: nil, shared: nil, swap: nil, measured: nil }.freeze
        private_constant :NOT_MEASURED

        private

        def update_rate(statm, now)
          grown = @statm && statm ? statm.anonymous - @statm.anonymous : 0
          seconds = now - @seen_at
          @rate = [grown / seconds, @rate / 2].max if seconds.positive?
        end
      end
    end
  end
end
