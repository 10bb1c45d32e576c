# frozen_string_literal: true

# Pods of a Deployment have new names. Repeatedly a new pod starts, and the old one stops. Each stop
# gives the partitions to the new pod at once, although the session timeout is five minutes. The
# nodes are still static members: a killed node's successor gets its partitions without a rebalance.
# With `leave_on_stop: false`, a pod that restarts under its name keeps its partitions.
require_relative "scenario"

# Returns the command prefix that runs a program under a hostname.
def under_hostname(hostname)
  ["unshare", "--uts", "sh", "-c", "hostname #{hostname} && exec \"$@\"", "sh"]
end

# Runs a swarm as in a pod: Kubernetes sets this variable in each.
def in_kubernetes(source, hostname)
  run_swarm(source, under: under_hostname(hostname),
                    env: { "KUBERNETES_SERVICE_HOST" => "10.0.0.1" })
end

KafkaScenario.play do
  missing "root, to set a hostname" unless Process.uid.zero?

  topic = topic("orders", 8)
  source_with = lambda do |more = ""|
    reader(topic, nodes: 2, more: ", commit_interval: 0.2#{more}",
                  kafka: { "session.timeout.ms" => "300000" })
  end
  source = source_with.call
  produced = 0
  await_work = lambda do |*swarms, nodes:|
    await_assignment(8, *swarms, nodes:)
    feed(topic, (produced...produced + 800).map { |n| [n.to_s, "v", n % 8] })
    await_keys(produced += 800)
  end

  pod = in_kubernetes(source, "billing-7c5d9f4b6-x2kzq")
  await_work.call(pod, nodes: 2)
  %w[billing-5b8d6c7f9-4jvbn billing-5b8d6c7f9-zq8xw].each do |name|
    successor = in_kubernetes(source, name)
    await_assignment(8, pod, successor, nodes: 4)
    must("exit with 0") { pod.stop.exitstatus.zero? }
    pod = successor
    await_work.call(pod, nodes: 2)
  end

  must("handle no message twice at a stop") { keys.size == produced }

  before = generation("readers")
  Process.kill(:KILL, pod.status("readers")["nodes"].first["pid"])
  await_work.call(pod, nodes: 2)
  must("rebalance nothing when a node is killed") { generation("readers") == before }
  must("exit with 0") { pod.stop.exitstatus.zero? }

  keeping_source = source_with.call(", leave_on_stop: false")
  pod = in_kubernetes(keeping_source, "billing-0")
  await_work.call(pod, nodes: 2)
  before = generation("readers")
  must("exit with 0") { pod.stop.exitstatus.zero? }
  pod = in_kubernetes(keeping_source, "billing-0")
  await_work.call(pod, nodes: 2)
  must("keep the pod's memberships over a stop") { generation("readers") == before }
  must("exit with 0") { pod.stop.exitstatus.zero? }

  must("handle each message") { keys.uniq.sort == (0...produced).to_a }
end
