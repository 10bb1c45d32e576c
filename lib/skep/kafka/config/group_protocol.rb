# frozen_string_literal: true

# The group protocol that the settings choose: Kafka's classic protocol, or that of KIP-848
# (`group.protocol: consumer`), in which the broker assigns partitions.
#
#   protocol = GroupProtocol.new({ "group.protocol" => "consumer", "session.timeout.ms" => "6000" })
#   protocol.errors       # => ["kafka: session.timeout.ms can't be set with group.protocol: …"]
#   protocol.instance_name("billing-host")   # => nil: a dynamic member unless the user set a name
#
# In the classic protocol members are static by default: a node that was killed gets its partitions
# back at once when it returns under the same group.instance.id. In the new protocol the broker
# admits no member under an id before the session of the previous one has ended, so members are
# dynamic unless the settings have a group.instance.id.
module Skep
  module Kafka
    module Config
      class GroupProtocol
        BROKER_SETTINGS = {
          "session.timeout.ms" => "the broker's group.consumer.session.timeout.ms, or the " \
                                  "group's consumer.session.timeout.ms, says it",
          "heartbeat.interval.ms" => "the broker's group.consumer.heartbeat.interval.ms, or the " \
                                     "group's consumer.heartbeat.interval.ms, says it",
          "partition.assignment.strategy" => "the broker assigns: group.remote.assignor chooses " \
                                             "how",
          "group.protocol.type" => "that protocol has no types"
        }.freeze
        COOPERATIVE = "cooperative-sticky"
        STRATEGIES = ["range", "roundrobin", COOPERATIVE].freeze
        CLASSIC_DEFAULTS = {
          # Members learn of a rebalance from the response to a heartbeat, so it takes as long as
          # the slowest member. librdkafka's default is 3 s.
          "heartbeat.interval.ms" => "1000"
        }.freeze
        SESSION_MS, POLL_MS = 45_000, 300_000 # librdkafka's defaults
        private_constant :BROKER_SETTINGS, :COOPERATIVE, :STRATEGIES, :CLASSIC_DEFAULTS,
                         :SESSION_MS, :POLL_MS

        def initialize(settings) = @settings = settings #: (Hash[String, String]) -> void

        # Returns a sentence for each setting that contradicts another.
        def errors #: () -> Array[String]
          return settings_of_the_broker if broker_assigned?

          [*assignment_strategies, *poll_interval_below_session_timeout,
           *remote_assignor_in_classic_protocol]
        end

        # Returns the settings of a member unless the user sets them.
        def defaults = broker_assigned? ? {} : CLASSIC_DEFAULTS #: () -> Hash[String, String]

        # Returns what the group.instance.id of each member begins with; nil: members are dynamic.
        def instance_name(default) #: (String) -> String?
          name = @settings.fetch("group.instance.id") { broker_assigned? ? "" : default }
          name unless name.empty?
        end

        # Returns true for the protocol of KIP-848.
        def broker_assigned? = @settings["group.protocol"]&.downcase == "consumer" #: () -> bool

        private

        def settings_of_the_broker
          BROKER_SETTINGS.slice(*@settings.keys).map do |name, why|
            "kafka: #{name} can't be set with group.protocol: consumer: #{why}"
          end
        end

        def remote_assignor_in_classic_protocol
          return [] unless @settings.key?("group.remote.assignor")

          ["kafka: group.remote.assignor needs group.protocol: consumer; " \
           "partition.assignment.strategy is what the classic protocol has"]
        end

        def assignment_strategies
          given = @settings.fetch("partition.assignment.strategy", "").split(",").map(&:strip).uniq
          [*("kafka: partition.assignment.strategy can't have #{COOPERATIVE} beside others: " \
             "members would revoke in different ways" if given.include?(COOPERATIVE) && given[1]),
           *(given - STRATEGIES).map do |name|
             "kafka: partition.assignment.strategy #{name.inspect} isn't one of librdkafka's: " \
               "take #{STRATEGIES.join(", ")}"
           end]
        end

        def poll_interval_below_session_timeout
          session, poll = milliseconds("session.timeout.ms", SESSION_MS),
                          milliseconds("max.poll.interval.ms", POLL_MS)
          return [] if session.nil? || poll.nil? || poll >= session

          ["kafka: max.poll.interval.ms, #{poll}, must not be less than session.timeout.ms, " \
           "#{session}"]
        end

        # Returns nil for a value that librdkafka rejects itself.
        def milliseconds(name, default)
          Integer(@settings.fetch(name, default), exception: false)
        end
      end
    end
  end
end
