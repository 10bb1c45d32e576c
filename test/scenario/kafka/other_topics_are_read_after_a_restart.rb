# frozen_string_literal: true

# A swarm of two static members stops and comes back with a topic more, then without the first one.
# Its members get their former partitions, as Kafka doesn't look at their subscriptions. Long before
# the end of a session the new topic is read, and the former one is nobody's. The source isn't the
# swarm's first work.
require_relative "scenario"

KafkaScenario.play do
  a, b = topic("a", 4), topic("b", 4)
  group = Skep::Kafka.const_get(:Consumer).new("bootstrap.servers" => broker.address,
                                               "group.id" => "readers")
  at_end { group.close }
  requests = Skep::Kafka.const_get(:Librdkafka)::AdminRequests
  assigned = lambda do
    answers = group.queue
    requests.describe_group(group, answers, "readers", 60)
    found = answers.wait(60) { |event| requests.group_description_in(event).last }
    found.members.flat_map(&:partitions).sort if found&.state == "Stable"
  ensure
    answers.close
  end
  all = ->(*topics) { topics.product((0...4).to_a) }
  start = lambda do |*topics|
    source = reader(topics, nodes: 2, kafka: { "session.timeout.ms" => "300000" })
    other = "swarm.work(nodes: 1) { |node| node.wait until node.stopping? }"
    run_swarm(source.sub("swarm.work(source)") { |work| "#{other}\n#{work}" })
  end

  swarm = start.call(a)
  await_assignment(4, swarm, nodes: 2)
  feed(a, (0...100).map { |n| [n.to_s, "v", n % 4] })
  await_keys(100)
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  must("keep their places: #{assigned.call}") { assigned.call == all.call(a) }

  feed(b, (100...200).map { |n| [n.to_s, "v", n % 4] })
  swarm = start.call(a, b)
  swarm.follow("both topics are assigned") { assigned.call == all.call(a, b) }
  await_keys(200)
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  feed(b, (200...300).map { |n| [n.to_s, "v", n % 4] })
  swarm = start.call(b)
  swarm.follow("the other topic alone is assigned") { assigned.call == all.call(b) }
  feed(a, (1_000...1_100).map { |n| [n.to_s, "v", n % 4] })
  await_keys(300)
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  swarm = start.call(b)
  feed(b, (300...400).map { |n| [n.to_s, "v", n % 4] })
  await_keys(400)
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  again = swarm.events.count { |event| event["event"] == "kafka_topics_changed" }
  must("change nothing with the same topics") { again.zero? }
  must("handle nothing of the former topic") { keys.uniq.sort == (0...400).to_a }
end
