# frozen_string_literal: true

# What can keep a Kafka source from working, each with what to do about it.
#
#   rescue Skep::Kafka::BrokerUnreachable => e
#     e.message   # => "no broker of kafka-1:9092 answered within 15 s (…): start the broker, or …"
#
# Those under Skep::BootError end a node's boot; `skep run` prints the sentence.
require "skep/kafka/errors/boot"
require "skep/kafka/errors/client"
require "skep/kafka/errors/output"
require "skep/kafka/errors/final"
