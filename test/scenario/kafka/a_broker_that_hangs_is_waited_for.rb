# frozen_string_literal: true

require_relative "scenario"

# A broker stopped by SIGSTOP keeps its connections open and answers nothing. The nodes log it as
# disconnected, and log its return. No healthy node exits. Meanwhile a message crashes its nodes,
# whose successors boot while the broker is stopped. It becomes a dead letter, and all other
# messages are handled.
KafkaScenario.play do
  orders, dead = topic("orders", 2), topic("dead", 1)
  feed(orders, [["1", "v", 0], ["2", "v", 1], ["666", "bad", 0], ["3", "v", 0]])
  more = ", dead_letter_topic: #{dead.inspect}, max_messages: 10, connect_timeout: 60"
  reached, stopped = %w[reached stopped].map { |name| File.join(directory, name) }
  body = <<~RUBY
    if batch.payloads.include?("bad")
      File.write(#{reached.inspect}, "")
      File.read(#{stopped.inspect}) # blocks on a FIFO until the broker is stopped
      batch.each { |message| exit!(7) if message.payload == "bad" }
    end
  RUBY
  File.mkfifo(stopped)
  gate = File.open(stopped, File::RDWR)
  kafka = { "socket.timeout.ms" => 2_000, "session.timeout.ms" => 6_000 }
  swarm = run_swarm(reader(orders, more:, body:, kafka:))
  swarm.follow("a node reaches the bad message") { File.exist?(reached) }
  java = Integer(File.read("#{directory}/broker/broker.pid"))
  swarm.kill(java, :STOP)
  began = Skep::OS.now
  File.write("#{stopped}.now", "")
  File.rename("#{stopped}.now", stopped)
  gate.close
  died = swarm.await(GONE)
  swarm.await("kafka_unreachable") { |event| event["node"] == died["node"] }
  lost = swarm.await("kafka_disconnected") { |event| event["node"] != died["node"] }
  puts format("logged after %.1f s", Skep::OS.now - began)
  must("name the broker in kafka_disconnected: #{lost}") { lost["brokers"] == broker.address }
  swarm.kill(java, :CONT)
  swarm.await("kafka_reconnected")
  letter = swarm.await("dead_lettered")
  must("report three crashes in dead_lettered: #{letter}") { letter["crashes"] == 3 }
  feed(orders, (10...1_000).map { |n| [n.to_s, "v"] })
  await_keys(993)

  gone = swarm.events.select { |event| GONE.include?(event["event"]) }
  others = gone.reject { |event| event["exit_status"] == 7 }
  must("keep every healthy node alive: #{others}") { others.empty? }
  must("dead-letter only the bad message") { read(dead).map { |one| one[:key] } == ["666"] }
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
