# frozen_string_literal: true

# The memory of one node: the last measurement, what changed since, and the history for the status.
#
#   node_memory = NodeMemory.new(resident, sharers: 4, now:)
#   node_memory.seen(resident, now)      # at each look; cheap
#   node_memory.measured(plain, now)     # the node has counted its pages; {} if it couldn't
#   node_memory.uss_min                  # lower bound of its USS in bytes; uss_max is the upper
#   node_memory.to_plain                 # for `skep status`
#
# A new anonymous page is private, and a shared page that becomes private by a write was anonymous
# before. So since a measurement USS has grown by at least as much as anonymous memory has.
module Skep
  class Swarm
    module Memory
      class NodeMemory
        include Runtime::Persisted

        KEPT = %i[born_at measurable_at seen_at cost rates baseline_uss memory measured_at
                  refresh_at decay_at stopping rest grown asked_at answered_at].freeze
        COST = 1000.0 # measurements of all nodes may use a thousandth of a processor
        PAUSE = 1.0..60.0 # bounds of the minimum pause between two, a tenth of the node's age
        REFRESH = 300.0  # maximum seconds between two, once the node is that old
        RATES = 8
        YOUNG = 10.0     # seconds
        STILL = 1 << 20  # bytes: an idle node grows by less
        private_constant :COST, :PAUSE, :REFRESH, :RATES, :YOUNG, :STILL

        attr_reader :born_at # time of the first sample
        attr_reader :decay # private and shared bytes at ages that double

        # sharers: number of nodes that share the processor time for measurements. rest: minimum
        # seconds between two measurements while the node doesn't grow.
        def initialize(resident, now:, sharers: 1, rest: 0.0)
          @born_at = @measurable_at = @seen_at = now
          @rest = rest
          @resident = @first = resident
          @cost = COST * sharers
          @rates = []
          @decay = []
          @baseline_uss = uss_min
        end

        def dump
          { **super, "resident" => @resident.to_a, "first" => @first.to_a, "decay" => @decay }
        end

        def self.restore(plain)
          new(OS::Memory::Statm.new(rss: 0, anonymous: 0), now: plain["born_at"]).restore(plain)
        end

        def restore(plain)
          @resident, @first = %w[resident first].map do |name|
            OS::Memory::Statm.new(**%i[rss anonymous].zip(plain[name]).to_h)
          end
          @decay = plain["decay"].map { |facts| facts.transform_keys(&:to_sym).freeze }
          super
        end

        # Returns the facts for MemoryLimitPolicy.
        def facts
          MemoryLimitPolicy::Facts.new(uss_min:, uss_max:, rate:, ready_at: @born_at,
                                       measurable_at:, still: grown < STILL)
        end

        # Returns an upper bound of the USS: resident memory, shared or not.
        def uss_max = @resident.rss

        # Returns a lower bound of the USS: the last measurement, plus the growth since. Before the
        # first measurement it is the growth since the first sample.
        def uss_min
          uss, anonymous = @memory&.values_at("uss", "anonymous") || [0, @first.anonymous]
          [uss + @resident.anonymous - anonymous, 0].max
        end

        # Returns true once the node has counted its pages.
        def measured? = !@memory.nil?

        # The highest USS while the node was young, which a successor will use, too.
        attr_reader :baseline_uss

        # Returns the fastest growth of the last RATES looks, in bytes a second.
        def rate = @rates.max || 0.0

        def seen(resident, now)
          seconds = now - @seen_at
          @grown = resident.anonymous - @resident.anonymous
          @rates << (@grown / seconds) if seconds.positive?
          @rates.shift if @rates.size > RATES
          @resident = resident
          @seen_at = now
          update_baseline(now)
        end

        # The node was asked to count its pages. It isn't asked again before it has answered.
        def requested(now) = @asked_at = now

        # Returns the seconds since the open request; nil if there is none.
        def waited(now) = @asked_at && (now - @asked_at)

        # plain: "rss", "pss", "uss", "shared", "swap", "anonymous" in bytes, and the "seconds" that
        # the count took; {} if the node couldn't count its pages, then it is asked again after a
        # pause. Ignores a result that isn't newer than the last.
        def measured(plain, now)
          @answered_at = now
          return unmeasured(now) if plain.empty?
          return if now <= (@measured_at || @born_at)

          @asked_at = nil
          @memory = plain
          @measured_at = now
          @measurable_at = now + [plain["seconds"] * @cost, pause(now)].max
          update_baseline(now)
          record_decay(now)
        end

        # Returns true if the node has counted its pages since then, or has said that it can't.
        def answered?(since:) = !@answered_at.nil? && @answered_at >= since

        # Returns true if a measurement is due, even if only for the status.
        def stale?(now)
          now >= measurable_at && (@memory.nil? || now >= @refresh_at)
        end

        # Returns true if its memory is about the same as at the last measurement.
        def still?
          measured? && (@resident.anonymous - @memory["anonymous"]).abs < STILL &&
            (@resident.rss - @memory["rss"]).abs < STILL
        end

        # The node is being stopped without waiting for a successor.
        def stopping! = @stopping = true
        def stopping? = @stopping ? true : false

        # Returns the bytes now, estimated from the last measurement, and the seconds since it. They
        # are nil before the first measurement.
        def to_plain(now)
          age = (now - @measured_at).round(3) if measured?
          { rss: uss_max, **parts, measured: age, decay: }
        end

        private

        # Returns the bytes that it grew between the last two looks.
        def grown = @grown || 0

        def measurable_at
          return Float::INFINITY if @asked_at

          still? ? [@measurable_at, @measured_at + @rest].max : @measurable_at
        end

        def parts
          return { pss: nil, uss: nil, shared: nil, swap: nil } unless measured?

          uss = [uss_min, uss_max].min
          { pss: [@memory["pss"] + uss - @memory["uss"], uss].max, uss:, shared: uss_max - uss,
            swap: @memory["swap"] }
        end

        def unmeasured(now)
          return unless @asked_at && now > @asked_at

          @asked_at = nil
          @measurable_at = now + pause(now)
        end

        def update_baseline(now)
          @baseline_uss = [@baseline_uss, uss_min].max if now - @born_at < YOUNG
        end

        def pause(now) = ((now - @born_at) / 10).clamp(PAUSE)

        def record_decay(now)
          age = [now - @born_at, PAUSE.min].max
          @refresh_at = now + [age, REFRESH].min
          return if @decay_at && now < @decay_at

          @decay << { age: age.round(3), uss: @memory["uss"], shared: @memory["shared"] }.freeze
          @decay_at = @born_at + (2 * age)
        end
      end
    end
  end
end
