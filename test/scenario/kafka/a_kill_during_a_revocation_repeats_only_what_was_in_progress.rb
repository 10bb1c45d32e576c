# frozen_string_literal: true

# A node processes four partitions on two threads, and one message takes for ever. A second node
# joins, so the first one has to give up partitions, and waits for that handler. It gets SIGKILL
# then: only that message is handled again, though commit_interval has not passed.
require_relative "scenario"

PARTITIONS = 4
MESSAGES = 400

KafkaScenario.play do
  orders = topic("orders", PARTITIONS)
  feed(orders, (0...MESSAGES).map { |n| [nil, n.to_s, n % PARTITIONS] })
  done, stuck = File.join(directory, "done"), File.join(directory, "stuck")
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: ["#{orders}"], threads: 2,
                                     max_messages: 10, commit_interval: 600)
    Skep.swarm "slow", nodes: 1, liveness_timeout: 600 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each do |message|
          if message.payload == "#{MESSAGES - 4}" && !File.exist?("#{stuck}")
            File.write("#{stuck}", "")
            Thread.stop
          end
          File.write("#{done}", "\#{message.payload}\\n", mode: "a")
        end
      end
    end
  RUBY
  handled = -> { File.exist?(done) ? File.readlines(done, chomp: true).map(&:to_i) : [] }
  swarm.follow("all but the last batch of a partition is done") do
    File.exist?(stuck) && handled.call.size >= MESSAGES - 10
  end
  before = handled.call.size
  first = swarm.status("slow")["nodes"][0]["pid"]
  must("scale") { swarm.skep("scale", "2").nil? }
  swarm.follow("what is done is committed") do
    committed("orders", orders, PARTITIONS).to_i >= MESSAGES - 10
  end
  must("still wait for the handler") { swarm.events.none? { |one| one["event"] == "node_died" } }
  swarm.kill(first)
  swarm.follow("all is done") { handled.call.uniq.size == MESSAGES }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  twice = handled.call.size - MESSAGES
  puts "#{before} messages were done before the kill, #{twice} were handled twice"
  must("repeat no more than the batch in progress") { twice < 10 }
end
