# frozen_string_literal: true

# Notices that a swarm's static members came back with other topics than before. Kafka gives such a
# member its former partitions without a rebalance, whatever it subscribes to: until the next one
# nobody would read a topic that was added, and nobody else one that was removed.
#
#   check = SubscriptionCheck.for(options, node:, consumer:)   # nil where another node checks
#   check.start(["returns"])             # the node has an assignment, and had one of this topic, to
#                                        # which it doesn't subscribe
#   check.io; check.seconds_left         # when to call `difference`
#   check.difference                     # => { added: ["refunds"], removed: [] }; nil
#   check.close
#
# Only the first node of a source checks, once, after its first assignment. If its group is in the
# middle of a rebalance then, it asks again. Topics that match a pattern aren't noticed.
module Skep
  module Kafka
    class Consumer
      class SubscriptionCheck
        RETRY_SECONDS = 1.0
        private_constant :RETRY_SECONDS

        class << self
          def for(options, node:, consumer:)
            return unless consumer.static_member? && node.__first_of_its_work?

            new(consumer, group: options.group, topics: options.topics)
          end

          # members: of the group. existing: those of the topics that exist. removed: topics that
          # the member was given, and doesn't subscribe to. (Others of the swarm may subscribe to
          # other topics.)
          def difference(members, existing, removed)
            held = members.flat_map { |member| member.partitions.map(&:first) }
            found = { added: existing - held, removed: }
            found unless found.values.all?(&:empty?)
          end
        end

        def initialize(consumer, group:, topics:)
          @consumer, @group, @topics = consumer, group, topics
          @answers = consumer.queue
        end

        def io = @answers.io
        def seconds_left = @due && [@due - OS.now, 0].max

        def start(unsubscribed)
          return if @removed

          @due = OS.now
          @removed = unsubscribed
        end

        # Asks when it is time to. Returns what differs, once; nil before the answer, and if nothing
        # does.
        def difference
          @answers.drain { |event| read(event) }
          ask if @due && @due <= OS.now
          return unless @members && @existing

          members, @members = @members, nil
          SubscriptionCheck.difference(members, @existing, @removed)
        end

        def close = @answers.close
        def inspect = "#<Skep::Kafka::Consumer::SubscriptionCheck of #{@group}>"

        private

        def ask
          @due = nil
          requests = Librdkafka::AdminRequests
          requests.describe_group(@consumer, @answers, @group, requests::NO_TIMEOUT)
          names = @topics.reject { |topic| topic.start_with?("^") }
          return @existing = [] if names.empty?

          requests.describe_topics(@consumer, @answers, names, requests::NO_TIMEOUT)
        end

        def read(event)
          if event.kind == :topics
            return @existing = Librdkafka::AdminRequests.topic_ids_in(event).keys
          end

          code, group = Librdkafka::AdminRequests.group_description_in(event)
          return @members = group.members if group&.state == "Stable"

          @due = OS.now + RETRY_SECONDS unless Librdkafka::ErrorCode::UNSUPPORTED.include?(code)
        end
      end
    end
  end
end
