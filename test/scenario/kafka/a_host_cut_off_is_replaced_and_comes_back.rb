# frozen_string_literal: true

# Two hosts share a group. The cable of one is pulled out while its nodes have batches in hand: the
# other takes over what it had. The one that is cut off notices by itself, and `each` gives out
# nothing more of what it has lost. Back on the net it takes its share again. Nothing is lost, and
# nothing is handled twice.
require_relative "scenario"
require_relative "support/hosts"

# The broker listens on the bridge as well.
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
  why = Hosts.obstacle
  missing why if why

  hosts = Hosts.new(2)
  at_end { hosts.close }
  address = "#{hosts.address}:#{broker.port + 2}"
  listen_on(address)
  topic = topic("orders", 8)
  hold = File.join(directory, "hold")
  held = <<~RUBY
    if File.exist?(#{hold.inspect}) && Socket.gethostname == #{hosts.names[1].inspect}
      File.write("#{hold}.\#{node.id}", "")
      node.busy(for: 100) { File.read(#{hold.inspect}) }
    end
  RUBY
  source = reader(topic, nodes: 2, more: ", commit_interval: 0.2", body: held,
                  kafka: { "bootstrap.servers" => address, "session.timeout.ms" => "6000" })
  swarms = [0, 1].map { |n| run_swarm(source, under: hosts.under(n)) }
  share(8, *swarms, among: 4)
  feed(topic, messages(0...800))
  await_keys(800)
  swarms[0].follow("all of it is committed") { committed("readers", topic, 8) == 800 }

  File.mkfifo(hold)
  feed(topic, messages(800...1_600))
  swarms[1].follow("its nodes have something in hand") { Dir.glob("#{hold}.*").size == 2 }
  hosts.cut(1)
  share(8, swarms[0], among: 2)
  feed(topic, messages(1_600...2_400))
  await_keys(2_400)
  share(0, swarms[1], among: 0)

  File.write(hold, "go on") # to both
  File.unlink(hold)
  hosts.mend(1)
  share(8, *swarms, among: 4)
  feed(topic, messages(2_400...3_200))
  await_keys(3_200)

  swarms.each { |swarm| must("stop with 0") { swarm.stop.exitstatus.zero? } }
  twice = keys.size - keys.uniq.size
  puts "#{keys.uniq.size} messages, #{twice} handled twice"
  must("handle each message") { keys.uniq.sort == (0...3_200).to_a }
  must("handle nothing twice: `each` gives out nothing of a lost partition") { twice.zero? }
end
