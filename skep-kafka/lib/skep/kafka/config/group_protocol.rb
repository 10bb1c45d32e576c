# frozen_string_literal: true

# The group protocol that the settings choose: Kafka's classic protocol, or that of KIP-848
# (`group.protocol: consumer`), in which the broker assigns partitions.
#
#   protocol = GroupProtocol.new({ "group.protocol" => "consumer", **settings })
#   protocol.errors   # => ["kafka: session.timeout.ms can't be set with group.protocol …"]
#   protocol.instance_name("billing-host")   # => nil: dynamic, unless the user set a name
#
# In the classic protocol members are static by default: a node that was killed gets its
# partitions back at once when it returns under the same group.instance.id. In the new
# protocol the broker admits no member under an id before the session of the previous one has
# ended, so members are dynamic unless the settings have a group.instance.id.
module Skep
  module Kafka
    module Config
      class GroupProtocol
        BROKER_SETTINGS = {
          "session.timeout.ms" => "Set the broker's group.consumer.session.timeout.ms, or the " \
                                  "group's consumer.session.timeout.ms",
          "heartbeat.interval.ms" => "Set the broker's group.consumer.heartbeat.interval.ms, or " \
                                     "the group's consumer.heartbeat.interval.ms",
          "partition.assignment.strategy" => "The broker assigns partitions. Set " \
                                             "group.remote.assignor",
          "group.protocol.type" => "That protocol has no types"
        }.freeze
        COOPERATIVE = "cooperative-sticky"
        STRATEGIES = ["range", "roundrobin", COOPERATIVE].freeze
        CLASSIC_DEFAULTS = {
          # Members learn of a rebalance from the response to a heartbeat, so it takes as long as
          # the slowest member. librdkafka's default is 3 s.
          "heartbeat.interval.ms" => "400"
        }.freeze
        SESSION_MS, POLL_MS = 45_000, 300_000 # librdkafka's defaults
        private_constant :BROKER_SETTINGS, :COOPERATIVE, :STRATEGIES, :CLASSIC_DEFAULTS,
                         :SESSION_MS, :POLL_MS

        def initialize(settings) = @settings = settings

        # Returns an error message for each setting that contradicts another.
        def errors
          return settings_of_the_broker if broker_assigned?

          [*assignment_strategies, *poll_interval_below_session_timeout,
           *remote_assignor_in_classic_protocol]
        end

        # Returns the settings of a member unless the user sets them.
        def defaults = broker_assigned? ? {} : CLASSIC_DEFAULTS

        # Returns what the group.instance.id of each member begins with; nil: members are dynamic.
        def instance_name(default)
          name = @settings.fetch("group.instance.id") { broker_assigned? ? "" : default }
          name unless name.empty?
        end

        # Returns true in a pod of Kubernetes, unless the user has named the members. The name of a
        # Deployment's pod doesn't come back; that of a StatefulSet does, but its next pod takes
        # longer to start than a rebalance.
        def leave_on_stop?
          ENV.key?("KUBERNETES_SERVICE_HOST") && !@settings.key?("group.instance.id")
        end

        # Returns true for the protocol of KIP-848.
        def broker_assigned? = @settings["group.protocol"]&.downcase == "consumer"

        private

        def settings_of_the_broker
          BROKER_SETTINGS.slice(*@settings.keys).map do |name, why|
            "kafka: #{name} can't be set with group.protocol consumer. #{why}."
          end
        end

        def remote_assignor_in_classic_protocol
          return [] unless @settings.key?("group.remote.assignor")

          ["kafka: group.remote.assignor needs group.protocol consumer. In the classic protocol, " \
           "set partition.assignment.strategy."]
        end

        def assignment_strategies
          given = @settings.fetch("partition.assignment.strategy", "").split(",").map(&:strip).uniq
          [*("kafka: partition.assignment.strategy can't have #{COOPERATIVE} beside others " \
             "(members would revoke in different ways). Choose one." \
             if given.include?(COOPERATIVE) && given[1]),
           *(given - STRATEGIES).map do |name|
             "kafka: partition.assignment.strategy must be one of #{STRATEGIES.join(", ")} " \
               "(got #{name.inspect})"
           end]
        end

        def poll_interval_below_session_timeout
          session, poll = milliseconds("session.timeout.ms", SESSION_MS),
                          milliseconds("max.poll.interval.ms", POLL_MS)
          return [] if session.nil? || poll.nil? || poll >= session

          ["kafka: max.poll.interval.ms must be at least session.timeout.ms, #{session} " \
           "(got #{poll})"]
        end

        # Returns nil for a value that librdkafka rejects itself.
        def milliseconds(name, default)
          Integer(@settings.fetch(name, default), exception: false)
        end
      end
    end
  end
end
