# frozen_string_literal: true

# Kafka, a guest of the work room: messages for a swarm's nodes. Asked for by name, `require
# "skep/kafka"`, since it needs the gem karafka-rdkafka; that one is looked for only when something
# is to be done with it.
#
#   source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "…" }, group: "billing",
#                                    topics: "orders")
#   swarm.work(source) { |batch, child| batch.each { |message| … } }
#
# `EmbeddedBroker` is a broker for tests and demos, `Feed` fills topics. Clients are made only in
# the process that uses them, never before a fork.
require "io/nonblock"
require "io/wait"
require "json"
require "socket"

require "skep/threads"
require "skep/swarm/durations"

module Skep
  module Kafka
  end
end

require "skep/kafka/errors"
require "skep/kafka/library"
require "skep/kafka/native"
require "skep/kafka/codes"
require "skep/kafka/secrets"
require "skep/kafka/words"
require "skep/kafka/protocol"
require "skep/kafka/settings"
require "skep/kafka/options"
require "skep/kafka/message"
require "skep/kafka/haul"
require "skep/kafka/batch"
require "skep/kafka/backoff"
require "skep/kafka/event"
require "skep/kafka/event_queue"
require "skep/kafka/partition_list"
require "skep/kafka/client"
require "skep/kafka/description"
require "skep/kafka/requests"
require "skep/kafka/offsets"
require "skep/kafka/membership"
require "skep/kafka/fetch_wait"
require "skep/kafka/consumer"
require "skep/kafka/seeker"
require "skep/kafka/reader"
require "skep/kafka/whereabouts"
require "skep/kafka/intake"
require "skep/kafka/progress"
require "skep/kafka/sequence"
require "skep/kafka/keyring"
require "skep/kafka/failures"
require "skep/kafka/strand"
require "skep/kafka/partition"
require "skep/kafka/bell"
require "skep/kafka/resting"
require "skep/kafka/run_queue"
require "skep/kafka/assignment"
require "skep/kafka/dispatcher"
require "skep/kafka/desk"
require "skep/kafka/gate"
require "skep/kafka/poison"
require "skep/kafka/leeway"
require "skep/kafka/tools"
require "skep/kafka/gauge"
require "skep/kafka/bounds"
require "skep/kafka/meter"
require "skep/kafka/sender"
require "skep/kafka/writer"
require "skep/kafka/report"
require "skep/kafka/delivery"
require "skep/kafka/outbox"
require "skep/kafka/hurry"
require "skep/kafka/undelivered"
require "skep/kafka/aloud"
require "skep/kafka/producing"
require "skep/kafka/unclosed"
require "skep/kafka/producer"
require "skep/kafka/dead_letter"
require "skep/kafka/press"
require "skep/kafka/outlet"
require "skep/kafka/transactor"
require "skep/kafka/doubt"
require "skep/kafka/transaction"
require "skep/kafka/outputs"
require "skep/kafka/outage"
require "skep/kafka/topics"
require "skep/kafka/namesakes"
require "skep/kafka/inquiry"
require "skep/kafka/lag"
require "skep/kafka/gaps"
require "skep/kafka/boot"
require "skep/kafka/trails"
require "skep/kafka/custody"
require "skep/kafka/farewell"
require "skep/kafka/keeper"
require "skep/kafka/ledger"
require "skep/kafka/setback"
require "skep/kafka/sentence"
require "skep/kafka/sieve"
require "skep/kafka/asker"
require "skep/kafka/worker"
require "skep/kafka/member"
require "skep/kafka/source"
require "skep/kafka/feed"
require "skep/kafka/mock_cluster"
require "skep/kafka/embedded_broker"

# The C over the twins of Haul, Message and Reader.
Skep::OS.__load("skep/skep_kafka")
