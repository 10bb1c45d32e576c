# frozen_string_literal: true

# What came of a trial: figures, sentences, and what was wrong.
#
#   verdict.faults       # => [] when nothing was lost and every kill was answered
#   verdict.to_json      # one line
#   verdict.sentences    # for people
module Skep
  module CLI
    class Demo
      Verdict = Struct.new(:plan, :brokers, :produced, :processed, :duplicates, :kills, :restarts,
                           :seconds, :swarm_status, :note, keyword_init: true)

      class Verdict
        def lost = produced - processed #: () -> Integer
        def recovery_ms = kills.median&.round(1) #: () -> Float?

        def messages_per_second #: () -> Integer
          seconds.positive? ? (processed / seconds).round : 0
        end

        # Why it can't be called a success, a sentence each.
        def faults #: () -> Array[String]
          [note, *losses,
           ("only #{kills.answered.size} of #{plan.kills} kills were answered" unless kills.done?),
           ("the swarm's end: #{swarm_status}" unless swarm_status == "exit status 0")].compact
        end

        def to_json(*) #: () -> String
          JSON.generate({ produced:, processed:, duplicates:, lost:,
                          kills: kills.made.size, restarts:, recovery_ms:,
                          messages_per_second:, seconds: seconds.round(2),
                          nodes: plan.nodes, partitions: plan.partitions, brokers:, skep: VERSION })
        end

        def sentences #: () -> Array[String]
          ["#{Words.count(produced, "message")} produced, #{Words.number(processed)} processed, " \
           "#{lost.zero? ? "none" : Words.number(lost)} lost.",
           again, killed, speed].compact
        end

        private

        def losses
          made, wanted = [produced, plan.messages].map { |count| Words.number(count) }
          [("#{Words.count(lost, "message")} of #{made} got lost" if lost.positive?),
           ("only #{made} of #{wanted} messages were produced" if produced < plan.messages)]
        end

        def again
          return unless duplicates.positive?

          "#{Words.number(duplicates)} done again: " \
            "not yet committed when their partition changed hands."
        end

        def killed
          return if kills.made.empty?

          "#{Words.count(kills.made.size, "kill")}, #{Words.count(restarts, "restart")}, " \
            "#{Words.milliseconds(recovery_ms)} from kill to readiness (median)."
        end

        def speed
          "#{Words.number(messages_per_second)} messages/s for #{seconds.round(1)} s: #{place}."
        end

        def place
          "#{Words.count(plan.nodes, "node")}, #{Words.count(plan.partitions, "partition")}, " +
            (plan.brokers ? "broker #{plan.brokers}" : "the embedded broker")
        end
      end
      private_constant :Verdict
    end
  end
end
