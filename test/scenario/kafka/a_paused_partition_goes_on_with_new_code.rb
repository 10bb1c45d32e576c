# frozen_string_literal: true

require_relative "scenario"

# Without a topic for dead letters the partition of a message that crashes its nodes rests, and the
# others go on; nodes that come later crash no more for it, not after an upgrade and a rolling
# restart either. Once the code is mended, a reload lets the partition go on with that very message.
KafkaScenario.play do
  orders = topic("orders", 2)
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    require "fiddle"
    MENDED = File.exist?("\#{__dir__}/mended")
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", threads: 2)
    Skep.swarm "poisoned", nodes: 1 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each do |message|
          Fiddle::Pointer.new(8)[0, 1] if message.payload == "bad" && !MENDED
          File.write("\#{__dir__}/done", "\#{message.key}\\n", mode: "a")
        end
      end
    end
  RUBY
  notes = "#{swarm.directory}/done"
  done = -> { File.exist?(notes) ? File.readlines(notes, chomp: true).uniq : [] }
  feed(orders, [["0", "v", 0], ["1", "bad", 0], ["2", "v", 0], ["3", "v", 1]])
  convicted = swarm.await("message_quarantined", seconds: 60)
  must("pause it: #{convicted}") do
    convicted.values_at("verdict", "partition", "offset", "crashes") == ["pause", 0, 1, 3]
  end
  %w[upgrade restart].each do |change|
    swarm.skep(change, "poisoned").then { |why| must("#{change}: #{why}") { why.nil? } }
  end
  swarm.await("message_quarantined", seconds: 60)
  feed(orders, [["4", "v", 1]])
  swarm.follow("the other partition goes on") { done.call.sort == %w[0 3 4] }
  suspects = swarm.status("poisoned")["suspects"].map { |one| one["in_flight"] }
  must("show it in status: #{suspects}") { suspects.include?("orders/0/1-1 at 1") }
  table, = Open3.capture2e({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby,
                           Scenario::RunningSwarm::SKEP, "status", "poisoned")
  must("print it: #{table}") do
    table.match?(%r{^suspect: orders/0/1-1 at 1, crashes \d, alone \d \(SIG.*\)$})
  end
  crashes = swarm.events.count { |event| event["event"] == "work_isolated" }
  must("crash no more: #{crashes}") { crashes.between?(3, 4) }

  File.write("#{swarm.directory}/mended", "")
  swarm.skep("reload", "poisoned").then { |why| must("reload: #{why}") { why.nil? } }
  swarm.follow("all is done") { done.call.sort == %w[0 1 2 3 4] }
  must("suspect nobody") { swarm.status("poisoned")["suspects"].empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
