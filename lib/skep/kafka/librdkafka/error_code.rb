# frozen_string_literal: true

# The error codes of librdkafka and Kafka that this room tells apart (rdkafka.h,
# rd_kafka_resp_err_t).
#
#   NETWORK.include?(event.code)   # a broker can't be reached
module Skep
  module Kafka
    module Librdkafka
      module ErrorCode
        ASSIGN = -175
        REVOKE = -174
        STATE = -172
        BAD_COMPRESSION = -198
        BAD_MESSAGE = -199
        NOT_IMPLEMENTED = -170
        NO_OFFSET = -168
        ALL_BROKERS_DOWN = -187
        QUEUE_FULL = -184
        TIMED_OUT = -185
        OUT_OF_RANGE = 1
        UNKNOWN_TOPIC = 3
        UNKNOWN_MEMBER = 25
        TOPIC_REFUSED = 29
        GROUP_REFUSED = 30
        TOPIC_EXISTS = 36
        NO_GROUP = 69
        COORDINATOR = [14, 15, 16].freeze # of a group: it is loading, isn't there, or is another
        UNKNOWN_PARTITION = -190
        UNSUPPORTED = [-165, 35].freeze # an older broker, or the mock cluster

        # The group is changing: a commit must wait until it has settled.
        REBALANCING = [22, 27].freeze
        # No connection: refused, timed out, no such name, TLS that fails, none left.
        NETWORK = [-195, -193, -181, TIMED_OUT, ALL_BROKERS_DOWN].freeze
        # Nobody to commit to: no connection, or no coordinator, which may be loading or moving.
        AWAY = [*NETWORK, *COORDINATOR, -189].freeze
        # Another member has come by the same group.instance.id, or has it still.
        FENCED = 82
        NAME_KEPT = 111
        # Messages that can't be read; librdkafka goes on behind them.
        UNREADABLE = [BAD_MESSAGE, BAD_COMPRESSION, NOT_IMPLEMENTED].freeze
        # The broker answered and didn't accept who we are.
        LOGIN = [-169, 33, 34, 58].freeze
      end
    end
  end
end
