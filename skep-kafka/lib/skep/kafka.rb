# frozen_string_literal: true

# Kafka consumers and producers for the nodes of a swarm. Load it explicitly, `require
# "skep/kafka"`. It loads the gem karafka-rdkafka when the first client is made.
#
#   source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "…" }, group: "billing",
#                                    topics: "orders")
#   swarm.work(source) { |batch, node| batch.each { |message| … } }
#
# Clients are made only in the process that uses them, never before a fork. Each folder may use
# those above it, and the public classes beside them (test/architecture_test.rb):
#
#   librdkafka/  bindings, the clients' queues, and all that knows FFI
#   config/      options and librdkafka's settings: defaults and checks
#   metrics/     counters, lag, spans, and events for the supervisor
#   producer/    messages in flight, the handlers' producers, transactions
#   failure/     retries, the dead letter queue, messages that crash their node
#   processing/  from fetched messages to finished batches: order, scheduling, workers
#   consumer/    the group's member: start, event loop, rebalances, leaving
#   admin/       requests of a program that is no member: a group's lag, dead letters
#   testing/     fakes, a mock cluster, and messages for topics
#   command/     the command `skep kafka`, which loads it
require "digest/sha2"
require "io/nonblock"
require "io/wait"
require "json"
require "socket"
require "zlib"

require "skep/error_place"
require "skep/plugin/kafka"
require "skep/spelling"
require "skep/threads"
require "skep/swarm/stats"

module Skep
  module Kafka
  end

  ErrorPlace.add(File.expand_path("..", __dir__), callers: %w[kafka/processing/worker])
end

require "skep/kafka/errors"

require "skep/kafka/message"

require "skep/kafka/librdkafka/bindings"
require "skep/kafka/librdkafka/error_code"
require "skep/kafka/librdkafka/event_queue"
require "skep/kafka/librdkafka/wakeup_pipe"
require "skep/kafka/librdkafka/topic_partition_list"
require "skep/kafka/librdkafka/oauth_login"
require "skep/kafka/librdkafka/client"
require "skep/kafka/librdkafka/offset_queries"
require "skep/kafka/librdkafka/producer_client"
require "skep/kafka/librdkafka/metadata_query"
require "skep/kafka/librdkafka/admin_requests"
require "skep/kafka/librdkafka/message_set"
require "skep/kafka/librdkafka/partition_queue"

require "skep/kafka/config/group_protocol"
require "skep/kafka/config/client_config"
require "skep/kafka/config/source_options"
require "skep/kafka/config/topic_options"

require "skep/kafka/batch"

require "skep/kafka/database_offsets"
require "skep/kafka/delivery_handle"

require "skep/kafka/metrics/lag_offsets"
require "skep/kafka/metrics/client_statistics"
require "skep/kafka/metrics/topic_totals"
require "skep/kafka/metrics/partition_metrics"
require "skep/kafka/metrics/consumer_metrics"
require "skep/kafka/metrics/event_reporter"
require "skep/kafka/metrics/tracing"

require "skep/kafka/producer/sync_producer"
require "skep/kafka/producer/in_flight_messages"
require "skep/kafka/producer"
require "skep/kafka/producer/renewable_producer"
require "skep/kafka/producer/handler_producer"
require "skep/kafka/producer/handler_producers"
require "skep/kafka/producer/transaction_calls"
require "skep/kafka/producer/transactional_producer"

require "skep/kafka/failure/poison_detector"
require "skep/kafka/failure/dead_letter_queue"
require "skep/kafka/failure/outage_evidence"
require "skep/kafka/failure/topic_evidence"
require "skep/kafka/failure/database_pool"
require "skep/kafka/failure/failure_count"
require "skep/kafka/failure/retry_backoff"
require "skep/kafka/failure/failure_cause"
require "skep/kafka/failure/retry_policy"
require "skep/kafka/failure/present_failures"
require "skep/kafka/failure/failure_handler"

require "skep/kafka/processing/offset_origin"
require "skep/kafka/processing/commit_metadata"
require "skep/kafka/processing/leader_epochs"
require "skep/kafka/processing/partition_reader"
require "skep/kafka/processing/done_offsets"
require "skep/kafka/processing/key_order"
require "skep/kafka/processing/slice"
require "skep/kafka/processing/attempt"
require "skep/kafka/processing/work_item"
require "skep/kafka/processing/backoff_queue"
require "skep/kafka/processing/partition_order"
require "skep/kafka/processing/progress_page"
require "skep/kafka/processing/progress_row"
require "skep/kafka/processing/former_progress"
require "skep/kafka/processing/assigned_partition"
require "skep/kafka/processing/topic_queue"
require "skep/kafka/processing/scheduler"
require "skep/kafka/processing/user_code"
require "skep/kafka/processing/key_extractor"
require "skep/kafka/processing/membership_lease"
require "skep/kafka/processing/partition_ownership"
require "skep/kafka/processing/payload_deserializer"
require "skep/kafka/processing/completion"
require "skep/kafka/processing/worker"

require "skep/kafka/consumer"
require "skep/kafka/consumer/pending_commit"
require "skep/kafka/consumer/offset_committer"
require "skep/kafka/consumer/broker_outage"
require "skep/kafka/consumer/outage_probe"
require "skep/kafka/consumer/fetch_errors"
require "skep/kafka/consumer/startup_check"
require "skep/kafka/consumer/assignment_callbacks"
require "skep/kafka/consumer/member_progress"
require "skep/kafka/consumer/rebalance_listener"
require "skep/kafka/consumer/leave_policy"
require "skep/kafka/consumer/stall_detector"
require "skep/kafka/consumer/stall_monitor"
require "skep/kafka/consumer/topic_recreation"
require "skep/kafka/consumer/subscription_check"
require "skep/kafka/consumer/event_loop"
require "skep/kafka/consumer/group_member"

require "skep/kafka/admin/admin_client"
require "skep/kafka/admin/consumer_group_lag"
require "skep/kafka/admin/topic_scan"
require "skep/kafka/admin/dead_letters"

require "skep/kafka/source"

require "skep/kafka/testing/topic_seeder"
require "skep/kafka/testing/mock_cluster"

require "skep/kafka/embedded_broker"

# The C over the fallbacks of Librdkafka::MessageSet, Message and Librdkafka::PartitionQueue.
Skep::OS.__load("skep/skep_kafka")
