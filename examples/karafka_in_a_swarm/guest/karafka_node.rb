# frozen_string_literal: true

require "karafka"
require "json"
require "socket"
require_relative "watch"

# Karafka's embedded mode as what a node does: a source for `swarm.work`, whose block sets Karafka
# up and draws its routes, in the node.
#
#   swarm.work(KarafkaNode.new(threads: 5)) { require_relative "karafka" }
#
# Nothing of Karafka's runs before the fork, and librdkafka has no client there.
class KarafkaNode
  LOOK = 2 # seconds

  attr_reader :threads

  def initialize(threads:) = @threads = threads

  def errors = threads.positive? ? [] : ["threads must be 1 or more, not #{threads}"]
  def facts = { kind: "karafka", threads: }

  def run(node, set_up)
    set_up.call(node)
    check(Karafka::App.config.concurrency)
    watch = Watch.new(node, threads:).begin
    find_brokers
    node.ready!
    return unless node.wait_for_predecessor # a name in the group is one process' only

    Karafka::Embedded.start
    serve(node, watch)
    Karafka::Embedded.stop # waits for handlers as long as shutdown_timeout, and commits
  end

  private

  def check(concurrency)
    concurrency == threads or
      raise Skep::BootError, "Karafka is to have #{concurrency} threads, and KarafkaNode #{threads}"
  end

  def find_brokers
    Karafka::Admin.cluster_info
  rescue Rdkafka::RdkafkaError => e
    raise Skep::BootError, "Karafka can't reach Kafka: #{e.message}"
  end

  def serve(node, watch)
    until node.stopping?
      raise "Karafka has stopped by itself" if watch.over?

      node.quiet? ? quieten : judge(node, watch.complaint)
      node.wait(LOOK)
    end
  end

  def quieten
    @quiet ||= true.tap { Karafka::Embedded.quiet }
  end

  def judge(node, complaint)
    node.unhealthy!(complaint) if complaint
    node.healthy! if @complaint && complaint.nil?
    @complaint = complaint
  end
end
