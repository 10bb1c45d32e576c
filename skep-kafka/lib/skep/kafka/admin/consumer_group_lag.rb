# frozen_string_literal: true

# The lag of a consumer group, as the cluster reports it; no swarm needs to run.
#
#   Skep::Kafka.lag("billing", { "bootstrap.servers": "kafka-1:9092" }, seconds: 15)
#   # => { group:, state:, assignor:, lag:, unknown:,
#   #      members: [{ id:, instance:, client:, host: }],
#   #      partitions: [{ topic:, partition:, committed:, end:, lag:, member:, client:, host:,
#   #                     error: }] }
#
# Lists each partition of which the group has committed an offset or that is assigned to a member.
# A partition's `lag` is nil without a committed offset or an end offset; `unknown` counts those,
# and the group's `lag` is the sum of the others.
#
# It isn't the lag that `skep status` and the metrics page show: a node counts that from what it has
# done, committed or not (Metrics::PartitionMetrics).
#
# Sends four requests: for the group's coordinator, its members, its committed offsets, and the end
# offsets (to each broker that leads one of the partitions).
module Skep
  module Kafka
    # Requests of a program that is no member of a group.
    module Admin
      class ConsumerGroupLag
        def initialize(group, settings, admin_client)
          @group = group
          @settings = settings
          @admin_client = admin_client
        end

        # Sends the requests, and returns the Hash above. Raises UnknownGroup.
        def to_h
          group = description || Librdkafka::AdminRequests::GroupDescription::NONE
          committed = committed_offsets
          if committed.empty? && group.dead?
            raise UnknownGroup.new(group: @group, brokers:, describable: @describable)
          end

          rows = rows(committed, group.members)
          { group: @group, state: group.state, assignor: group.assignor,
            lag: rows.sum { |row| row[:lag].to_i }, unknown: rows.count { |row| row[:lag].nil? },
            members: group.members.map { |member| member.to_h.except(:partitions) },
            partitions: rows }
        end

        private

        # { [topic, number] => offset }
        def committed_offsets
          code, found = request(:group_offsets, @group, nil) do |event|
            code = Librdkafka::AdminRequests.group_offsets_error(event)
            [code, code.zero? ? Librdkafka::AdminRequests.group_offsets_in(event) : []]
          end
          check(code, Librdkafka::ErrorCode::GROUP_ID_NOT_FOUND)
          found.to_h { |topic, number, offset, _| [[topic, number], offset] }
        end

        # Returns nil where the cluster can't describe groups, or doesn't know this one.
        def description
          code, found = request(:describe_group, @group) do |event|
            Librdkafka::AdminRequests.group_description_in(event)
          end
          unsupported = Librdkafka::ErrorCode::UNSUPPORTED
          check(code, Librdkafka::ErrorCode::GROUP_ID_NOT_FOUND, *unsupported)
          @describable = !unsupported.include?(code)
          found
        end

        # { [topic, number] => [offset, error code] }
        def end_offsets(keys)
          return {} if keys.empty?

          code, found = request(:end_offsets, keys) do |event|
            offsets = event.code.zero? ? Librdkafka::AdminRequests.end_offsets_in(event) : []
            [event.code, offsets]
          end
          check(code)
          found.to_h { |topic, number, offset, error| [[topic, number], [offset, error]] }
        end

        # Returns the error code and answer that the block reads from the event.
        def request(name, *about)
          request = lambda do |client, answers, seconds|
            Librdkafka::AdminRequests.public_send(name, client, answers, *about, seconds)
          end
          @admin_client.request(request) { |event| (read = yield(event)) && [read.first, read] }
        end

        def rows(committed, members)
          assigned = members.flat_map do |member|
            member.partitions.map { |key| [key, member] }
          end.to_h
          keys = (committed.keys | assigned.keys).sort
          ends = end_offsets(keys)
          keys.map { |key| row(key, committed[key], ends[key], assigned[key]) }
        end

        def row(key, committed, end_, member)
          offset, code = end_ || [nil, Librdkafka::ErrorCode::UNKNOWN_PARTITION]
          offset = nil unless code.zero?
          committed = nil if committed&.negative?
          { topic: key.first, partition: key.last, committed:, end: offset,
            lag: committed && offset && [offset - committed, 0].max,
            member: member && (member.instance || member.id), client: member&.client,
            host: member&.host, error: error(code, committed, offset) }
        end

        BEYOND = "the committed offset is beyond the end: the topic may have been recreated"
        private_constant :BEYOND

        def error(code, committed, offset)
          return Librdkafka::Bindings.err2str(code) unless code.zero?

          BEYOND if committed && committed > offset
        end

        # Raises for an error code that isn't one of the expected ones.
        def check(code, *expected)
          return if [0, *expected].include?(code)

          cause = Librdkafka::Bindings.err2str(code)
          what = { Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED => :group,
                   Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED => :topic }[code]
          raise AuthorizationError.new(what:, name: @group, brokers:, cause:) if what

          raise RequestFailed.new(group: @group, brokers:, cause:)
        end

        def brokers = @settings.brokers
      end
    end

    # Returns ConsumerGroupLag#to_h. Raises ConfigurationError, BrokerUnreachable,
    # AuthorizationError, UnknownGroup or RequestFailed.
    def self.lag(group, kafka, seconds: 15)
      settings = Config::ClientConfig.new(kafka)
      raise ConfigurationError.new(sentences: settings.errors) if settings.errors.any?

      admin_client = Admin::AdminClient.new(group, settings, seconds:)
      admin_client.connect
      Admin::ConsumerGroupLag.new(group, settings, admin_client).to_h
    ensure
      admin_client&.close
    end
  end
end
