# frozen_string_literal: true

# A swarm is scaled up and down all the time, so that its group rebalances permanently. Meanwhile
# messages arrive, and a second swarm of the group keeps reading. At the end each partition is
# assigned, and every message has been handled.
require_relative "scenario"

SIZES = [5, 1, 6, 2, 4, 1, 3].freeze
ROUND = 1_000

KafkaScenario.play do
  topic = topic("orders", 8)
  more = ", commit_interval: 0.5, max_messages: 50, threads: 2"
  swarm = run_swarm(reader(topic, nodes: 2, more:))
  others = run_swarm(reader(topic, nodes: 1, more:).sub("\"readers\"", "\"others\""))
  await_assignment(8, swarm, others, nodes: 3)
  before = generation("readers")

  SIZES.each.with_index do |nodes, round|
    must("scale to #{nodes}") { swarm.skep("scale", "readers", nodes.to_s).nil? }
    feed(topic, (0...ROUND).map { |n| [((round * ROUND) + n).to_s, "v", n % 8] })
    swarm.follow_for(0.5)
  end
  await_assignment(8, swarm, others, nodes: 4)
  all = SIZES.size * ROUND
  feed(topic, (all...all + 8).map { |n| [n.to_s, "v", n % 8] })
  await_keys(all + 8)

  must("handle each message") { keys.uniq.sort == (0...all + 8).to_a }
  [swarm, others].each { |one| must("exit with 0") { one.stop.exitstatus.zero? } }
  failed = swarm.events.select { |event| %w[error fatal].include?(event["level"]) }
  must("log no error: #{failed.first}") { failed.empty? }
  ended = swarm.events.select { |event| GONE.include?(event["event"]) }
  must("let every node exit with 0") { ended.all? { |event| event["exit_status"] == 0 } }
  puts "#{all + 8} messages, #{keys.size - keys.uniq.size} handled twice, " \
       "#{generation("readers") - before} rebalances"
end
