# frozen_string_literal: true

require "karafka"
require "json"
require "socket"
require_relative "watch"

# A source for `swarm.work` that runs Karafka's embedded mode in a node. The block of `swarm.work`
# configures Karafka and its routes, in the node.
#
#   swarm.work(KarafkaNode.new(threads: 5)) { require_relative "karafka" }
#
# Before the fork Karafka doesn't run, and librdkafka has no client.
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
    return unless node.wait_for_predecessor # a name in the group belongs to one process

    Karafka::Embedded.start
    serve(node, watch)
    Karafka::Embedded.stop # waits for handlers as long as shutdown_timeout, and commits
  end

  private

  def check(concurrency)
    concurrency == threads or
      raise Skep::BootError, "Karafka has #{concurrency} threads, but KarafkaNode #{threads}"
  end

  def find_brokers
    Karafka::Admin.cluster_info
  rescue Rdkafka::RdkafkaError => e
    raise Skep::BootError, "Karafka can't reach Kafka: #{e.message}"
  end

  def serve(node, watch)
    until node.stopping?
      raise "Karafka has stopped" if watch.over?
      break if @quiet && !node.quiet? # Karafka can't resume: another node takes over

      node.quiet? ? quieten : report(node, watch.problem)
      node.wait(LOOK)
    end
  end

  def quieten
    @quiet ||= true.tap { Karafka::Embedded.quiet }
  end

  def report(node, problem)
    node.unhealthy!(problem) if problem
    node.healthy! if @problem && problem.nil?
    @problem = problem
  end
end
