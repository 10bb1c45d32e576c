# frozen_string_literal: true

# The figures of a run, and what was wrong.
#
#   result.faults       # => [] if nothing was lost and every killed node was replaced
#   result.to_json      # one line
#   result.sentences    # for people
module Skep
  module Demo
    # How numbers are written for people.
    module Text
      def self.number(value) = value.round.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
      def self.count(value, noun) = "#{number(value)} #{noun}#{"s" unless value == 1}"
    end

    # swarm_failure: nil, or how its supervisor ended; note: why it was stopped early.
    Result = Struct.new(:plan, :produced, :processed, :duplicates, :kills, :restarts, :seconds,
                        :swarm_failure, :note, keyword_init: true)

    class Result
      def lost = produced - processed

      def faults
        made, wanted = [produced, plan.messages].map { |count| Text.number(count) }
        replaced = kills.count(&:recovered?)
        [note,
         ("#{Text.count(lost, "message")} of #{made} got lost" if lost.positive?),
         ("only #{made} of #{wanted} messages were produced" if produced < plan.messages),
         ("only #{replaced} of #{plan.kills} killed nodes were replaced" if replaced < plan.kills),
         ("the swarm ended with #{swarm_failure}" if swarm_failure)].compact
      end

      def to_json(*)
        JSON.generate({ produced:, processed:, duplicates:, lost:, kills: kills.size, restarts:,
                        recovery_ms: recovery_ms&.round(1), messages_per_second: rate.round,
                        seconds: seconds.round(2), nodes: plan.nodes,
                        partitions: Topic::PARTITIONS, brokers: plan.brokers || "embedded",
                        skep: VERSION })
      end

      def sentences
        ["#{Text.count(produced, "message")} produced, #{Text.number(processed)} processed, " \
         "#{lost.zero? ? "none" : Text.number(lost)} lost.",
         (repeated if duplicates.positive?), (killed if kills.any?),
         "#{Text.number(rate)} messages/s for #{seconds.round(1)} s: " \
         "#{Text.count(plan.nodes, "node")}, #{Topic::PARTITIONS} partitions, " \
         "#{plan.brokers ? "broker #{plan.brokers}" : "the embedded broker"}."].compact
      end

      private

      def repeated
        again = "#{Text.number(duplicates)} processed again: "
        return "#{again}in progress when their node was killed." if plan.brokers

        "#{again}the embedded broker has no static members, so that each kill moves partitions. " \
          "With --brokers only what was in progress comes again."
      end

      def killed
        "#{Text.count(kills.size, "kill")}, #{Text.count(restarts, "restart")}, " \
          "#{recovery_ms&.round || "-"} ms from kill to readiness (median)."
      end

      def rate = seconds.positive? ? processed / seconds : 0

      def recovery_ms
        times = kills.select(&:recovered?).map(&:milliseconds).sort
        (times[(times.size - 1) / 2] + times[times.size / 2]) / 2.0 if times.any?
      end
    end
  end
end
