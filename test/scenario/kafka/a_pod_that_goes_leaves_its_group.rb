# frozen_string_literal: true

# Pods of a Deployment come with new names. One after the other starts, and the one before it stops:
# each stop gives its partitions to the next pod at once, although the sessions last five minutes.
# Its nodes are static members all the same: a killed one has its partitions back without a
# rebalance. With `leave_on_stop: false`, a pod whose name comes back keeps its place over a stop.
require_relative "scenario"

# The command that runs another one under a hostname.
def named(hostname)
  ["unshare", "--uts", "sh", "-c", "hostname #{hostname} && exec \"$@\"", "sh"]
end

# So a process knows that it is in a pod.
def in_kubernetes(source, hostname)
  run_swarm(source, under: named(hostname), env: { "KUBERNETES_SERVICE_HOST" => "10.0.0.1" })
end

KafkaScenario.play do
  missing "root, for a hostname of one's own" unless Process.uid.zero?

  topic = topic("orders", 8)
  described = lambda do |more = ""|
    reader(topic, nodes: 2, more: ", commit_interval: 0.2#{more}",
                  kafka: { "session.timeout.ms" => "300000" })
  end
  source = described.call
  fed = 0
  hand_over = lambda do |*swarms, among:|
    share(8, *swarms, among:)
    feed(topic, (fed...fed + 800).map { |n| [n.to_s, "v", n % 8] })
    await_keys(fed += 800)
  end

  pod = in_kubernetes(source, "billing-7c5d9f4b6-x2kzq")
  hand_over.call(pod, among: 2)
  %w[billing-5b8d6c7f9-4jvbn billing-5b8d6c7f9-zq8xw].each do |name|
    successor = in_kubernetes(source, name)
    share(8, pod, successor, among: 4)
    must("stop with 0") { pod.stop.exitstatus.zero? }
    pod = successor
    hand_over.call(pod, among: 2)
  end

  must("handle nothing twice at a stop") { keys.size == fed }

  before = generation("readers")
  Process.kill(:KILL, pod.status("readers")["nodes"].first["pid"])
  hand_over.call(pod, among: 2)
  must("move nothing when a node is killed") { generation("readers") == before }
  must("stop with 0") { pod.stop.exitstatus.zero? }

  keeping = described.call(", leave_on_stop: false")
  pod = in_kubernetes(keeping, "billing-0")
  hand_over.call(pod, among: 2)
  before = generation("readers")
  must("stop with 0") { pod.stop.exitstatus.zero? }
  pod = in_kubernetes(keeping, "billing-0")
  hand_over.call(pod, among: 2)
  must("keep its place") { generation("readers") == before }
  must("stop with 0") { pod.stop.exitstatus.zero? }

  must("handle each message") { keys.uniq.sort == (0...fed).to_a }
end
