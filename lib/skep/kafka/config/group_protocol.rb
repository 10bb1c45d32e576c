# frozen_string_literal: true

# How the members of a group agree on who has what, as far as settings choose it: Kafka's classic
# protocol, or the one of KIP-848, `group.protocol: consumer`, in which the broker decides.
#
#   protocol = GroupProtocol.new({ "group.protocol" => "consumer", "session.timeout.ms" => "6000" })
#   protocol.errors       # => ["kafka: session.timeout.ms can't be set with group.protocol: …"]
#   protocol.name("billing-host")   # => nil: nameless unless the user gave a name
#
# In the classic protocol a member has a name by default: whoever comes under the name of one that
# was killed gets its partitions at once. In the new one the broker lets nobody in under a name
# before the session of the one before has ended, and so nobody has one who didn't ask for it.
module Skep
  module Kafka
    module Config
      class GroupProtocol
        BROKERS = {
          "session.timeout.ms" => "the broker's group.consumer.session.timeout.ms, or the group's " \
                                  "consumer.session.timeout.ms, says it",
          "heartbeat.interval.ms" => "the broker's group.consumer.heartbeat.interval.ms, or the " \
                                     "group's consumer.heartbeat.interval.ms, says it",
          "partition.assignment.strategy" => "the broker assigns: group.remote.assignor chooses how",
          "group.protocol.type" => "that protocol has no types"
        }.freeze
        COOPERATIVE = "cooperative-sticky"
        STRATEGIES = ["range", "roundrobin", COOPERATIVE].freeze
        CLASSIC = {
          # Members learn of a rebalance from the answer to a heartbeat: it takes as long as the
          # slowest. librdkafka's are 3 s apart.
          "heartbeat.interval.ms" => "1000"
        }.freeze
        SESSION_MS, POLL_MS = 45_000, 300_000 # librdkafka's, unless set
        private_constant :BROKERS, :COOPERATIVE, :STRATEGIES, :CLASSIC, :SESSION_MS, :POLL_MS

        def initialize(settings) = @settings = settings #: (Hash[String, String]) -> void

        # Which settings don't go together, a sentence each.
        def errors #: () -> Array[String]
          brokers? ? owned : [*mixed, *short, *lonely]
        end

        # What a member has where the user says nothing else.
        def defaults = brokers? ? {} : CLASSIC #: () -> Hash[String, String]

        # What the group is to know a swarm's members by, before their numbers; nil: by nothing.
        def name(default) #: (String) -> String?
          name = @settings.fetch("group.instance.id") { brokers? ? "" : default }
          name unless name.empty?
        end

        # Does the broker assign?
        def brokers? = @settings["group.protocol"]&.downcase == "consumer" #: () -> bool

        private

        def owned
          BROKERS.slice(*@settings.keys).map do |name, who|
            "kafka: #{name} can't be set with group.protocol: consumer: #{who}"
          end
        end

        def lonely
          return [] unless @settings.key?("group.remote.assignor")

          ["kafka: group.remote.assignor needs group.protocol: consumer; " \
           "partition.assignment.strategy is what the classic protocol has"]
        end

        def mixed
          chosen = @settings.fetch("partition.assignment.strategy", "").split(",").map(&:strip).uniq
          [*("kafka: partition.assignment.strategy can't have #{COOPERATIVE} beside others: " \
             "members would revoke in different ways" if chosen.include?(COOPERATIVE) && chosen[1]),
           *(chosen - STRATEGIES).map do |one|
             "kafka: partition.assignment.strategy #{one.inspect} isn't one of librdkafka's: " \
               "take #{STRATEGIES.join(", ")}"
           end]
        end

        def short
          session, poll = milliseconds("session.timeout.ms", SESSION_MS),
                          milliseconds("max.poll.interval.ms", POLL_MS)
          return [] if session.nil? || poll.nil? || poll >= session

          ["kafka: max.poll.interval.ms, #{poll}, must not be less than session.timeout.ms, " \
           "#{session}"]
        end

        # nil where librdkafka will have something to say about it.
        def milliseconds(name, default)
          Integer(@settings.fetch(name, default), exception: false)
        end
      end
    end
  end
end
