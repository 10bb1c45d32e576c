# frozen_string_literal: true

require_relative "scenario"
require_relative "../../support/json_schema"

# `problems` of a status names each of seven incidents, and no longer once it has ended: a handler
# that makes no progress, with the line at which it stands, long before its node is replaced; a node
# that says it can't work; a crash loop; a swarm that is quiet; a message that `on_error` holds; a
# dependency that is unavailable; brokers that are gone. Before that, a swarm at its work has none,
# and in a restart and a rebalance only the restart itself.
class WhatIsWrong < KafkaScenario
  SCHEMA = JsonSchema.load(File.expand_path("../../../docs/reference/status.schema.json", __dir__))
  OTHERS = %w[rollout lag_unknown].freeze # where the machine is slow, a lag is known later

  def run
    at_its_work
    no_progress
    unhealthy
    crash_loop
    quiet
    held_message
    dependency
    brokers
    must("stop with 0; #{swarm.account}") { swarm.stop(seconds: 60).exitstatus.zero? }
  end

  private

  def at_its_work
    swarm.await("node_ready", times: 3)
    await_assignment(6, swarm, nodes: 2)
    feed("payments", Array.new(40) { |n| [n.to_s, "v", n % 4] })
    await_end("no_node_ready")
    seen = [%w[restart wrong], %w[scale wrong 3]].flat_map do |command|
      while_it_runs do
        error = swarm.skep(*command)
        must("#{command.first}: #{error}") { error.nil? }
      end
    end
    await_assignment(6, swarm, nodes: 3)
    seen += problems
    others = seen.reject { |one| OTHERS.include?(one["kind"]) }
    must("have no problem in a restart and a rebalance: #{others}") { others.empty? }
  end

  def no_progress
    during("hang") do
      found = await("no_progress") { |one| one["at"] }
      must("name the item and its line: #{found}") do
        found["text"].include?("job 7") && found["at"] == "swarm.rb:#{line("stand still")}" &&
          found["since"].between?(20, 40)
      end
      must("be seen before the node is replaced") do
        swarm.events.none? { |one| one["event"] == "node_hung" }
      end
      output = swarm.output_of("status", "wrong")
      must("be told below the first line of `skep status`: #{output}") do
        output.lines[1, 4].any?(/made no progress with job 7.*at swarm.rb:#{line("stand still")}/)
      end
    end
    await_end("no_progress")
  end

  def unhealthy
    during("sick") do
      found = await("unhealthy")
      must("tell the reason: #{found}") { found["text"].include?("no disk") }
    end
    await_end("unhealthy")
  end

  def crash_loop
    during("crash") do
      found = await("crash_loop") { |one| one["level"] == "critical" }
      must("tell the last exit: #{found}") { found["text"].include?("SIGKILL") }
      must("make `status --exit-status` fail") { swarm.skep("status", "wrong", "--exit-status") }
    end
    await_end("crash_loop", seconds: 120)
  end

  def quiet
    swarm.skep("quiet", "wrong").then { |error| must("be quiet: #{error}") { error.nil? } }
    found = await("quiet")
    must("be told as what was asked for: #{found}") { found["level"] == "info" }
    swarm.skep("resume", "wrong").then { |error| must("resume: #{error}") { error.nil? } }
    await_end("quiet")
  end

  def held_message
    feed("orders", [["1", "bad", 0], ["2", "v", 0]])
    found = await("partition_held")
    must("tell the error and its line: #{found}") do
      found["subject"] == "orders/0" && found["text"].include?("ArgumentError: bad order") &&
        found["at"] == "swarm.rb:#{line("bad order")}" && found["level"] == "critical"
    end
    File.write("#{swarm.directory}/fixed", "")
    swarm.skep("reload", "wrong").then { |error| must("reload: #{error}") { error.nil? } }
    await_end("partition_held")
  end

  def dependency
    during("away") do
      feed("payments", Array.new(40) { |n| [n.to_s, "v", n % 4] })
      found = await("dependency_away", seconds: 90) { |one| one["level"] == "critical" }
      must("tell the error: #{found}") { found["text"].include?("IOError: no database") }
    end
    await_end("dependency_away")
  end

  def brokers
    broker.kill
    found = await("broker_unreachable", seconds: 60)
    must("tell the group: #{found}") { found["subject"] == "group wrong" }
    broker.start
    await_end("broker_unreachable", seconds: 90)
  end

  # The file's name is what the swarm looks for.
  def during(name)
    path = "#{swarm.directory}/#{name}"
    File.write(path, "")
    yield
  ensure
    File.delete(path)
  end

  def problems
    status = swarm.status("wrong")
    errors = SCHEMA.errors(status)
    must("match the schema: #{errors.join("; ")}") { errors.empty? }
    status.fetch("problems")
  end

  def await(kind, seconds: SECONDS)
    found = nil
    swarm.follow(-> { "the problem #{kind}, but #{problems}" }, seconds:) do
      found = problems.find { |one| one["kind"] == kind && (!block_given? || yield(one)) }
    end
    found
  end

  def await_end(kind, seconds: SECONDS)
    swarm.follow(-> { "no problem #{kind} any more, but #{problems}" }, seconds:) do
      problems.none? { |one| one["kind"] == kind }
    end
  end

  # Returns the problems that were there while the block ran on another thread.
  def while_it_runs(&block)
    seen = []
    running = Thread.new(&block)
    seen.concat(problems) until running.join(0.3)
    seen
  end

  def line(text) = SOURCE.lines.index { |one| one.include?(text) } + 1

  def swarm
    @swarm ||= begin
      { "orders" => 2, "payments" => 4 }.each { |name, partitions| topic(name, partitions) }
      run_swarm(SOURCE.sub("BROKER", broker.address))
    end
  end

  SOURCE = <<~'RUBY'
    require "skep/kafka"
    is = ->(name) { File.exist?("#{__dir__}/#{name}") }
    fixed = is.call("fixed")

    Skep.swarm "wrong", nodes: 2, liveness_timeout: 40, max_restarts: 2, restart_window: 30 do |swarm|
      swarm.work(nodes: 1) do |node|
        until node.stopping?
          node.beat
          Process.kill(:KILL, Process.pid) if is.call("crash")
          if is.call("hang")
            node.in_flight("job 7")
            IO.select(nil, nil, nil, 0.1) while is.call("hang") # stand still
            node.in_flight(nil)
          end
          if is.call("sick")
            node.unhealthy!("no disk")
            IO.select(nil, nil, nil, 0.1) while is.call("sick")
            node.healthy!
          end
          node.wait(0.1)
        end
      end

      kafka = { "bootstrap.servers": "BROKER" }
      source = Skep::Kafka::Source.new(kafka:, group: "wrong", threads: 3) do |source|
        source.topic("orders", on_error: { ArgumentError => :pause }) do |batch|
          batch.each do |message|
            raise ArgumentError, "bad order" if message.payload == "bad" && !fixed
          end
        end
        source.topic("payments") do |batch|
          batch.each { |message| raise IOError, "no database" if is.call("away") }
        end
      end
      swarm.work(source)
    end
  RUBY
  private_constant :SCHEMA, :OTHERS, :SOURCE
end

WhatIsWrong.play { run }
