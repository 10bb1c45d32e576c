# frozen_string_literal: true

# The error codes of librdkafka and Kafka that skep tells apart (rdkafka.h, rd_kafka_resp_err_t).
# Each has librdkafka's name (rd_kafka_err2name), without the underscore that begins the names of
# librdkafka's own errors: those are the negative ones.
#
#   event.code == ErrorCode::TOPIC_AUTHORIZATION_FAILED
#   ErrorCode::CONNECTION.include?(event.code)   # a broker can't be reached
#
# What a user does about a refusal is said by AuthorizationError.advice (errors.rb).
module Skep
  module Kafka
    module Librdkafka
      module ErrorCode
        BAD_MSG = -199
        BAD_COMPRESSION = -198
        TRANSPORT = -195
        RESOLVE = -193
        UNKNOWN_PARTITION = -190
        ALL_BROKERS_DOWN = -187
        INVALID_ARG = -186
        TIMED_OUT = -185
        QUEUE_FULL = -184
        SSL = -181
        WAIT_COORD = -180
        ASSIGN_PARTITIONS = -175
        STATE = -172
        NOT_IMPLEMENTED = -170
        AUTHENTICATION = -169
        NO_OFFSET = -168
        UNSUPPORTED_FEATURE = -165
        OFFSET_OUT_OF_RANGE = 1
        UNKNOWN_TOPIC_OR_PART = 3
        COORDINATOR_LOAD_IN_PROGRESS = 14
        COORDINATOR_NOT_AVAILABLE = 15
        OFFSET_METADATA_TOO_LARGE = 12
        NOT_COORDINATOR = 16
        ILLEGAL_GENERATION = 22
        UNKNOWN_MEMBER_ID = 25
        REBALANCE_IN_PROGRESS = 27
        TOPIC_AUTHORIZATION_FAILED = 29
        GROUP_AUTHORIZATION_FAILED = 30
        UNSUPPORTED_SASL_MECHANISM = 33
        ILLEGAL_SASL_STATE = 34
        UNSUPPORTED_VERSION = 35
        TOPIC_ALREADY_EXISTS = 36
        SASL_AUTHENTICATION_FAILED = 58
        GROUP_ID_NOT_FOUND = 69
        FENCED_INSTANCE_ID = 82
        UNRELEASED_INSTANCE_ID = 111

        # The group's coordinator is loading, unknown, or another broker.
        COORDINATOR = [COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
                       NOT_COORDINATOR].freeze
        # The group rebalances: a commit has to wait until that is over.
        REBALANCING = [ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS].freeze
        # No connection to a broker: refused, timed out, unknown host, failed TLS, or none left.
        CONNECTION = [TRANSPORT, RESOLVE, SSL, TIMED_OUT, ALL_BROKERS_DOWN].freeze
        # Nothing can be committed at the moment: no connection, or no coordinator.
        UNAVAILABLE = [*CONNECTION, *COORDINATOR, WAIT_COORD].freeze
        # Messages that can't be read. librdkafka continues after them.
        UNREADABLE = [BAD_MSG, BAD_COMPRESSION, NOT_IMPLEMENTED].freeze
        # The broker rejected the credentials.
        LOGIN = [AUTHENTICATION, UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE,
                 SASL_AUTHENTICATION_FAILED].freeze
        # An older broker, or the embedded one, doesn't know the request.
        UNSUPPORTED = [UNSUPPORTED_FEATURE, UNSUPPORTED_VERSION].freeze
      end
    end
  end
end
