# frozen_string_literal: true

# How far behind a consumer group is, whoever its members are: asked of the cluster, with no swarm
# running.
#
#   Skep::Kafka.lag("billing", { "bootstrap.servers": "kafka-1:9092" }, seconds: 15)
#   # => { group:, state:, assignor:, lag:, unknown:,
#   #      members: [{ id:, instance:, client:, host: }],
#   #      partitions: [{ topic:, partition:, committed:, end:, lag:, member:, client:, host:,
#   #                     error: }] }
#
# A partition is listed if the group has committed something there, or if a member has it. `lag` is
# nil where nothing is committed or the end isn't known (so many are `unknown`); all others make
# up the group's.
#
# Four requests: who coordinates the group, its members, what it committed, and where the partitions
# end; the last to each broker that leads one of them.
module Skep
  module Kafka
    module Admin
      class ConsumerGroupLag
        #: (String, Config::ClientConfig, AdminClient) -> void
        def initialize(group, settings, admin_client)
          @group = group
          @settings = settings
          @admin_client = admin_client
        end

        def to_h #: () -> Hash[Symbol, untyped]
          group = described || GroupDescription::NONE
          committed = committed()
          raise unknown if committed.empty? && group.dead?

          rows = rows(committed, group.members)
          { group: @group, state: group.state, assignor: group.assignor,
            lag: rows.sum { |row| row[:lag].to_i }, unknown: rows.count { |row| row[:lag].nil? },
            members: group.members.map { |one| one.to_h.except(:partitions) }, partitions: rows }
        end

        private

        # { [topic, number] => offset }
        def committed
          code, found = ask(:all_offsets, @group) do |event|
            code = AdminRequests.offsets_in(event)
            [code, code.zero? ? AdminRequests.committed_in(event) : []]
          end
          complain(code) unless [0, Librdkafka::ErrorCode::GROUP_ID_NOT_FOUND].include?(code)
          found.to_h { |topic, number, offset, _| [[topic, number], offset] }
        end

        # nil where the cluster can't describe groups, or doesn't know it.
        def described
          code, found = ask(:describe, @group) { |event| AdminRequests.described_in(event) }
          complain(code) unless [0, Librdkafka::ErrorCode::GROUP_ID_NOT_FOUND, *Librdkafka::ErrorCode::UNSUPPORTED].include?(code)
          found
        end

        def ask(request, about)
          question = lambda do |client, answers, seconds|
            AdminRequests.public_send(request, client, answers, about, seconds)
          end
          @admin_client.ask(question) { |event| (answer = yield(event)) && [answer.first, answer] }
        end

        def rows(committed, members)
          holders = members.flat_map { |one| one.partitions.map { |key| [key, one] } }.to_h
          keys = (committed.keys | holders.keys).sort
          ends = keys.empty? ? {} : ends(keys)
          keys.map { |key| row(key, committed[key], ends[key], holders[key]) }
        end

        # { [topic, number] => [offset, error code] }
        def ends(keys)
          code, found = ask(:ends, keys) do |event|
            [event.code, event.code.zero? ? AdminRequests.ends_in(event) : []]
          end
          complain(code) unless code.zero?
          found.to_h { |topic, number, offset, error| [[topic, number], [offset, error]] }
        end

        def row(key, committed, end_, holder)
          offset, code = end_ || [nil, Librdkafka::ErrorCode::UNKNOWN_PARTITION]
          offset = nil unless code.zero?
          committed = nil if committed&.negative?
          { topic: key.first, partition: key.last, committed:, end: offset,
            lag: committed && offset && [offset - committed, 0].max,
            member: holder && (holder.instance || holder.id), client: holder&.client,
            host: holder&.host, error: error(code, committed, offset) }
        end

        BEYOND = "what is committed lies beyond the end: was the topic made again?"
        private_constant :BEYOND

        def error(code, committed, offset)
          return Librdkafka::Bindings.err2str(code) unless code.zero?

          BEYOND if committed && committed > offset
        end

        def complain(code)
          cause = Librdkafka::Bindings.err2str(code)
          what = { Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED => :group,
            Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED => :topic }[code]
          raise AuthorizationError.new(what:, name: @group, brokers:, cause:) if what

          raise RequestFailed.new(group: @group, brokers:, cause:)
        end

        def unknown = UnknownGroup.new(group: @group, brokers:)
        def brokers = @settings.brokers
      end
    end

    # See ConsumerGroupLag. Raises ConfigurationError, BrokerUnreachable, AuthorizationError,
    # UnknownGroup or RequestFailed.
    #: (String, Hash[untyped, untyped], ?seconds: Numeric) -> Hash[Symbol, untyped]
    def self.lag(group, kafka, seconds: 15)
      settings = Config::ClientConfig.new(kafka)
      raise ConfigurationError.new(sentences: settings.errors) if settings.errors.any?

      admin_client = Admin::AdminClient.new(group, settings, seconds:)
      admin_client.open
      Admin::ConsumerGroupLag.new(group, settings, admin_client).to_h
    ensure
      admin_client&.close
    end
  end
end
