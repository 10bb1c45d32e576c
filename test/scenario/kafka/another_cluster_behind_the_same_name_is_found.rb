# frozen_string_literal: true

require_relative "scenario"

# All brokers are replaced: the address of bootstrap.servers, here a proxy's, leads to another
# cluster, whose brokers have other addresses. A client that doesn't ask that address again
# (metadata.recovery.strategy: none) waits for the old brokers for ever. After stall_timeout a new
# client is tried, which finds the others. The nodes are replaced, and the messages there are read.
# An outage alone replaces nothing.
STALL = 5.0 # seconds

# Passes connections on to the broker of the moment.
class Relay
  attr_accessor :target
  attr_reader :port

  def initialize(target)
    @target = target
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @accept = Thread.new { loop { serve(@server.accept) } }
    @accept.report_on_exception = false # `close` ends it
  end

  def close
    @accept.kill.join
    @server.close
  end

  private

  def serve(client)
    broker = TCPSocket.new("127.0.0.1", @target)
    [[client, broker], [broker, client]].each do |from, to|
      Thread.new do
        IO.copy_stream(from, to)
      rescue IOError, SystemCallError # one of them is closed
        nil
      ensure
        [from, to].each(&:close)
      end
    end
  rescue SystemCallError # the broker is down
    client.close
  end
end

KafkaScenario.play do
  orders = topic("orders", 4)
  relay = Relay.new(broker.port).tap { |one| at_end { one.close } }
  place = File.join(directory, "another").tap { |path| Dir.mkdir(path) }
  another = KafkaScenario::Broker.new(place)
  at_end { another.finish }
  kafka = { "bootstrap.servers" => "127.0.0.1:#{relay.port}",
            "metadata.recovery.strategy" => "none" }
  swarm = run_swarm(reader(orders, nodes: 2, kafka:, more: ", stall_timeout: #{STALL}"))
  swarm.await("node_ready", times: 2)
  feed(orders, (0...1_000).map { |n| [n.to_s, "v"] })
  await_keys(1_000)

  broker.kill
  swarm.await("kafka_disconnected", times: 2)
  swarm.follow_for(STALL * 2.5)
  found = swarm.events.select { |event| ["kafka_stalled", *GONE].include?(event["event"]) }
  must("replace nothing while no broker answers, not #{found}") { found.empty? }

  @broker = another
  relay.target = broker.port
  began = Skep::OS.now
  topic(orders, 4)
  feed(orders, (1_000...2_000).map { |n| [n.to_s, "v"] })
  await_keys(2_000)
  puts format("read %.1f s after the new cluster was there", Skep::OS.now - began)
  swarm.await("kafka_stalled")
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
