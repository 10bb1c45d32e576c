# frozen_string_literal: true

# Where a node's work in its partitions begins, and where the partitions end: what lag is made of.
#
#   lag_estimator = LagEstimator.new(consumer)
#   lag_estimator.look(gauges, now)                    # asks the brokers, if it has to
#   lag_estimator.begin(key); lag_estimator.end(key)          # offsets; nil: not known
#   lag_estimator.plan(gauges, now)                    # when they have been told
#   lag_estimator.look_at                              # when it wants to look again; nil: no need
#
# The end is librdkafka's own knowledge, from the last answer to a fetch: it costs nothing. But
# nothing is fetched while enough of a partition waits here, which may be for hours: an end that
# hasn't moved for a while, with messages before it that aren't done, is asked for, and ever more
# seldom while it doesn't move.
#
# The beginning is asked for where a partition's first messages wait for a free thread, or don't
# come: what was committed, or else what its messages begin with. Once, if there is an answer. So is
# the end of what hasn't been fetched from at all.
module Skep
  module Kafka
    module Metrics
      class LagEstimator
        SOON = 1.0 # seconds in which a partition's first batch begins as a rule
        OLD = 10.0
        LONGEST = 320.0
        PATIENCE = 2.0 # for an answer
        private_constant :SOON, :OLD, :LONGEST, :PATIENCE

        # seen: the end by librdkafka; told: by the brokers, of later; at: when it was found; wait:
        # how long that will do.
        End = Struct.new(:seen, :told, :at, :wait)
        # turn: the gauge's, of which it is.
        Begin = Struct.new(:turn, :offset)
        private_constant :End, :Begin

        attr_reader :look_at #: Float?, monotonic seconds

        def initialize(consumer) #: (Consumer) -> void
          @consumer = consumer
          @ends = {}
          @begins = {}
          @patience = SOON
        end

        #: (Hash[[String, Integer], PartitionMetrics], Float) -> void
        def look(gauges, now)
          @ends.select! { |key, _| gauges.key?(key) }
          @begins.select! { |key, begin_| begin_.turn == gauges[key]&.turn && !gauges[key].begun? }
          gauges.each_key { |key| see(key, now) }
          return unless @look_at && @look_at <= now

          complete(gauges, now) if @unsure_at && @unsure_at <= now
          behind = behind(gauges)
          ask_ends(behind, now) if behind.any? { |key| old_at(key) <= now }
        end

        def begin(key) = @begins[key]&.offset #: ([String, Integer]) -> Integer?

        #: ([String, Integer]) -> Integer?
        def end(key) = @ends[key]&.then { |known| known.told || known.seen }

        #: (Hash[[String, Integer], PartitionMetrics], Float) -> void
        def plan(gauges, now)
          if unbegun(gauges).any? || endless.any?
            @unsure_at ||= now + @patience
          else
            @unsure_at = nil
            @patience = SOON
          end
          @look_at = [*@unsure_at, *behind(gauges).map { |key| old_at(key) }].min
        end

        def inspect
          "#<Skep::Kafka::Metrics::LagEstimator partitions=#{@ends.size}>"
        end #: () -> String

        private

        def see(key, now)
          seen = @consumer.end_of(*key)
          return if @ends.key?(key) && @ends[key].seen == seen

          @ends[key] = End.new(seen, nil, now, OLD)
        end

        # Asks for what isn't known, ever more seldom of what stays so.
        def complete(gauges, now)
          @patience = [@patience * 2, LONGEST].min
          @unsure_at = now + @patience
          ask_ends(endless, now) if endless.any?
          turns = unbegun(gauges).to_h { |key| [key, gauges[key].turn] }
          ask_begins(turns) if turns.any?
        end

        def endless = @ends.keys.reject { |key| self.end(key) }

        # Those of which it isn't known where the work begins.
        def unbegun(gauges)
          gauges.filter_map { |key, gauge| key unless gauge.begun? || @begins.key?(key) }
        end

        def behind(gauges) = gauges.filter_map { |key, gauge| key if gauge.lag.to_i.positive? }
        def old_at(key) = @ends[key].then { |known| known.at + known.wait }

        def ask_ends(keys, now)
          found = @consumer.ends(keys, PATIENCE)
          keys.each do |key|
            known = @ends[key]
            known.at = now
            next unless found&.key?(key) # no answer: it is asked again after the same time

            known.wait = found[key] == self.end(key) ? [known.wait * 2, LONGEST].min : OLD
            known.told = found[key]
          end
        end

        def ask_begins(turns)
          committed = @consumer.committed(turns.keys, PATIENCE) or return
          rest = turns.keys - committed.keys
          found = rest.any? ? @consumer.starts(rest, PATIENCE).to_h : {}
          committed.merge(found).each { |key, offset| @begins[key] = Begin.new(turns[key], offset) }
        end
      end
    end
  end
end
