# frozen_string_literal: true

require_relative "scenario"

# A dependency of the handler accepts connections and never answers, so that every handler hangs,
# and node after node is replaced. No message is blamed for that: nothing is isolated, quarantined
# or dead-lettered. Once the dependency answers, all messages are handled. (A node that is killed in
# that moment may have its messages isolated: others make progress then.)
MESSAGES = 100
SILENT = 30.0 # seconds; with LIVENESS three hangs of a message take about half of it
LIVENESS = 2.0

KafkaScenario.play do
  dependency = TCPServer.new("127.0.0.1", 0)
  answering = false
  clients = []
  server = Thread.new do
    loop do
      clients << dependency.accept
      clients.shift.puts("ok") while answering && clients.any?
    end
  end
  server.report_on_exception = false # `close` ends it
  at_end { server.kill.join.then { dependency.close } }

  orders, dead = topic("orders", 4), topic("dead", 1)
  feed(orders, (0...MESSAGES).map { |id| [id.to_s, "v", id % 4] })
  body = <<~RUBY
    batch.each { TCPSocket.open("127.0.0.1", #{dependency.addr[1]}) { |socket| socket.gets } }
  RUBY
  more = ", dead_letter_topic: #{dead.inspect}, threads: 2, max_messages: 10, retry_for: 86_400"
  options = ", liveness_timeout: #{LIVENESS}, kill_timeout: 0.5, max_restarts: 1_000"
  swarm = run_swarm(%(require "socket"\n) + reader(orders, more:, body:, options:))
  swarm.await("node_hung", times: 2)
  swarm.follow_for(SILENT)
  hung = swarm.events.count { |event| event["event"] == "node_hung" }
  must("replace hung nodes repeatedly, not #{hung} times") { hung >= 6 }
  named = ->(*names) { swarm.events.select { |event| names.include?(event["event"]) } }
  blamed = named.call("work_isolated")
  must("isolate no message, not #{blamed}") { blamed.empty? }
  answering = true
  await_keys(MESSAGES)

  blamed = named.call("message_quarantined", "dead_lettered")
  must("blame no message, not #{blamed}") { blamed.empty? }
  code = swarm.stop.exitstatus
  # On a busy machine a node may do nothing for LIVENESS in the stop, too: it is killed then.
  must("exit with 0 or 2, not #{code}") { [0, 2].include?(code) }
  puts "#{hung} nodes hung, #{MESSAGES} messages handled, none blamed"
end
