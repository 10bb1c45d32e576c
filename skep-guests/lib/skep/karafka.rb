# frozen_string_literal: true

require "skep/guest"

# From the oldest version that was tried; a new major version may have changed what this uses.
Skep::Guest.needs("karafka", ">= 2.5", "< 3")

# Rails must not load karafka.rb before the fork: each node has its own name in the group, and a
# client of librdkafka must not cross a fork.
ENV["KARAFKA_BOOT_FILE"] = "false"
require "karafka"
require "skep/karafka/watch"

# A source for `swarm.work` that runs Karafka's embedded mode in a node. The block loads karafka.rb,
# in the node.
#
#   swarm.work(Skep::Karafka.new(threads: 5) { require_relative "karafka" })
#
# Before the fork Karafka doesn't run, and librdkafka has no client.
module Skep
  class Karafka < Guest
    NO_FILE = "Skep::Karafka needs a block that loads karafka.rb: " \
              "`Skep::Karafka.new(threads: 5) { require_relative \"karafka\" }`"
    private_constant :NO_FILE

    # The node, for the thread of a consumer: `Skep::Karafka.node.beat` between its messages, and
    # `Skep::Karafka.node.busy(for: 600) { … }` around what takes longer than liveness_timeout.
    # nil in a process that isn't a node.
    def self.node = Watch.node

    # threads: as Karafka's `concurrency`.
    def initialize(threads: 5, &configure)
      refuse(NO_FILE) unless configure
      super
    end

    # The name of this kind of work.
    def work_name = "karafka"

    private

    def start(node, configure)
      configure.call(node)
      check(::Karafka::App.config, node.stop_timeout)
      @watch = Watch.new(node, threads:).begin
      find_brokers
    end

    def check(config, stop_timeout)
      unless config.concurrency == threads
        raise WrongConfiguration, "Karafka has #{config.concurrency} threads, but " \
                                  "Skep::Karafka #{threads}: give both the same number"
      end

      shutdown = config.shutdown_timeout / 1_000.0
      return if stop_timeout.nil? || shutdown < stop_timeout

      raise WrongConfiguration, "Karafka's shutdown_timeout, #{shutdown} s, must be less than " \
                                "the swarm's stop_timeout, #{stop_timeout} s: set " \
                                "`config.shutdown_timeout` in karafka.rb"
    end

    def find_brokers
      ::Karafka::Admin.cluster_info
    rescue ::Rdkafka::RdkafkaError => e
      raise Unavailable, "Karafka can't reach Kafka: #{e.message}"
    end

    # A name in the group belongs to one process.
    def joined(_node)
      ::Karafka::Embedded.start
      @started = true
    end

    def look(_node)
      raise "Karafka has stopped" if @watch.over?
    end

    def problem = @watch.problem

    def quieten
      ::Karafka::Embedded.quiet
      true
    end

    # Karafka waits for handlers as long as shutdown_timeout, and commits.
    def stop(_node) = @started && ::Karafka::Embedded.stop
  end
end
