# frozen_string_literal: true

# A node reads all topics of a pattern. The first topics are deleted once they are read; of later
# ones the node has eight times as many partitions. /healthz is answered at once, and the status
# lists the partitions. The node commits only at its stop: that commit has the offset of each
# partition, and the node leaves its group. (PARTITIONS=8000 for the later ones.)
require_relative "scenario"
require "net/http"

LATER = Integer(ENV.fetch("PARTITIONS", "160"))
EACH = LATER / 8 # partitions of a topic
LONG = 60 + (LATER / 20) # seconds

KafkaScenario.play do
  requests = Skep::Kafka.const_get(:Librdkafka)::AdminRequests
  group = Skep::Kafka.const_get(:Consumer).new("bootstrap.servers" => broker.address,
                                               "group.id" => "readers")
  at_end { group.close }
  members = lambda do
    answers = group.queue
    requests.describe_group(group, answers, "readers", 60)
    answers.wait(60) { |event| requests.group_description_in(event).last }&.members&.size
  ensure
    answers.close
  end
  seconds = lambda do |&block|
    began = Skep::OS.now
    block.call
    Skep::OS.now - began
  end
  count = 0
  fill = lambda do |name|
    topic(name, EACH)
    feed(name, (0...EACH).map { |one| [(count += 1).to_s, "v", one] })
  end

  fill.call("many.former")
  kafka = { "topic.metadata.refresh.interval.ms" => "1000" }
  swarm = run_swarm(reader("^many[.].*", nodes: 1, kafka:, options: ', metrics: "127.0.0.1:0"',
                                         more: ", commit_interval: 3600, leave_on_stop: true"))
  host, port = swarm.await("metrics_listening")["address"].split(":")
  await_keys(count)
  later = Array.new(8) { |number| "many.#{number}" }
  later.each(&fill)
  await_keys(count, seconds: LONG)
  seed("many.former", &:delete_topic)
  rows = -> { swarm.status("readers")["nodes"].first["work"]["partitions"] }
  held = -> { rows.call.select { |row| row["held"] } }
  swarm.follow("only the later topics are assigned", seconds: LONG) do
    held.call.map { |one| one["topic"] }.uniq.sort == later.sort
  end

  pids = [swarm.pid, swarm.status("readers")["nodes"].first["pid"]]
  status = Array.new(10) { seconds.call { held.call } }
  health = Array.new(100) do
    seconds.call do
      answer = Net::HTTP.get_response(host, "/healthz", port.to_i)
      must("be healthy: #{answer.body}") { answer.is_a?(Net::HTTPOK) }
    end
  end
  page = seconds.call { Net::HTTP.get_response(host, "/metrics", port.to_i) }
  listed = held.call.size
  later.each(&fill)
  await_keys(count, seconds: LONG)
  used = pids.map { |pid| Skep::OS::Memory.of(pid).uss >> 20 }
  exit_status = nil
  stop = seconds.call { exit_status = swarm.stop(seconds: LONG).exitstatus }
  puts "#{listed} partitions of #{LATER} in the status after #{EACH} others: " \
       "/healthz median #{health.sort[50].round(4)} s, slowest #{health.max.round(3)} s; " \
       "status #{status.sort[5].round(3)} s; /metrics #{page.round(3)} s; " \
       "stop #{stop.round(1)} s; MiB of supervisor and node: #{used}; " \
       "#{keys.size - count} of #{count} messages handled twice, in rebalances"
  must("answer within 0.1 s: #{health.sort}") { health.sort[50] < Patience.of(0.1) / 3 }
  must("list all partitions") { listed == LATER }
  must("exit with 0; #{swarm.account}") { exit_status.zero? }
  died = swarm.events.select { |event| event["event"] == "node_died" }
  must("replace no node: #{died}") { died.empty? }
  done = later.sum { |name| committed("readers", name, EACH) }
  must("commit all: #{done} of #{2 * LATER}") { done == 2 * LATER }
  must("leave the group: #{members.call}") { members.call.zero? }
end
