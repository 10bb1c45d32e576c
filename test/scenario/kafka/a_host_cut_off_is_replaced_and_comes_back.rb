# frozen_string_literal: true

# Two hosts share a group. One host is disconnected while its nodes process batches, and the other
# host gets its partitions. The disconnected nodes give up their partitions on their own: `each`
# yields no more messages of them. After the reconnection they get partitions again. No message is
# lost, and none is handled twice.
require_relative "scenario"
require_relative "support/hosts"

# Adds a listener on the bridge to the broker.
def listen_on(address)
  broker.reconfigure do |properties|
    more = { "listeners" => "BRIDGE://#{address}", "advertised.listeners" => "BRIDGE://#{address}",
             "listener.security.protocol.map" => "BRIDGE:PLAINTEXT" }
    more.each { |name, value| properties = properties.sub(/^#{name}=.*/) { "#{_1},#{value}" } }
    properties
  end
end

def messages(range) = range.map { |n| [n.to_s, "v", n % 8] }

KafkaScenario.play do
  obstacle = Hosts.obstacle
  missing obstacle if obstacle

  hosts = Hosts.new(2)
  at_end { hosts.close }
  address = "#{hosts.address}:#{broker.port + 2}"
  listen_on(address)
  topic = topic("orders", 8)
  hold = File.join(directory, "hold")
  body = <<~RUBY
    if File.exist?(#{hold.inspect}) && Socket.gethostname == #{hosts.names[1].inspect}
      File.write("#{hold}.\#{node.id}", "")
      node.busy(for: 100) { File.read(#{hold.inspect}) }
    end
  RUBY
  source = reader(topic, nodes: 2, more: ", commit_interval: 0.2", body:,
                  kafka: { "bootstrap.servers" => address, "session.timeout.ms" => "6000" })
  swarms = [0, 1].map { |n| run_swarm(source, under: hosts.under(n)) }
  await_assignment(8, *swarms, nodes: 4)
  feed(topic, messages(0...800))
  await_keys(800)
  swarms[0].follow("all messages are committed") { committed("readers", topic, 8) == 800 }

  File.mkfifo(hold)
  feed(topic, messages(800...1_600))
  swarms[1].follow("both of its nodes process a batch") { Dir.glob("#{hold}.*").size == 2 }
  hosts.disconnect(1)
  await_assignment(8, swarms[0], nodes: 2)
  feed(topic, messages(1_600...2_400))
  await_keys(2_400)
  await_assignment(0, swarms[1], nodes: 0)

  File.write(hold, "continue") # unblocks both nodes
  File.unlink(hold)
  hosts.reconnect(1)
  await_assignment(8, *swarms, nodes: 4)
  feed(topic, messages(2_400...3_200))
  await_keys(3_200)

  swarms.each { |swarm| must("exit with 0") { swarm.stop.exitstatus.zero? } }
  duplicates = keys.size - keys.uniq.size
  puts "#{keys.uniq.size} messages, #{duplicates} handled twice"
  must("handle each message") { keys.uniq.sort == (0...3_200).to_a }
  must("handle no message twice: `each` yields none of a lost partition") { duplicates.zero? }
end
