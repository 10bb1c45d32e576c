# frozen_string_literal: true

require_relative "scenario"

# Without a dead letter topic, the partition of a message that crashes its nodes is paused. The
# other partition continues. No later node crashes with that message, not even after a rolling
# restart. Once the code is fixed, a reload continues the partition with the same message.
KafkaScenario.play do
  orders = topic("orders", 2)
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    require "fiddle"
    FIXED = File.exist?("\#{__dir__}/fixed")
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", threads: 2)
    Skep.swarm "poisoned", nodes: 1 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each do |message|
          Fiddle::Pointer.new(8)[0, 1] if message.payload == "bad" && !FIXED
          File.write("\#{__dir__}/done", "\#{message.key}\\n", mode: "a")
        end
      end
    end
  RUBY
  notes = "#{swarm.directory}/done"
  done = -> { File.exist?(notes) ? File.readlines(notes, chomp: true).uniq : [] }
  feed(orders, [["0", "v", 0], ["1", "bad", 0], ["2", "v", 0], ["3", "v", 1]])
  quarantined = swarm.await("message_quarantined", seconds: 60)
  must("pause the partition: #{quarantined}") do
    quarantined.values_at("verdict", "partition", "offset", "crashes") == ["pause", 0, 1, 3]
  end
  swarm.skep("restart", "poisoned").then { |error| must("restart: #{error}") { error.nil? } }
  swarm.await("message_quarantined", seconds: 60)
  feed(orders, [["4", "v", 1]])
  swarm.follow("the other partition continues") { done.call.sort == %w[0 3 4] }
  suspects = swarm.status("poisoned")["suspects"].map { |one| one["in_flight"] }
  must("show the suspect in status --json: #{suspects}") { suspects.include?("orders/0/1-1 at 1") }
  table, = Open3.capture2e({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby,
                           Scenario::RunningSwarm::SKEP, "status", "poisoned")
  must("print the suspect in status: #{table}") do
    table.match?(%r{^suspect: orders/0/1-1 at 1, crashes \d, alone \d \(SIG.*\)$})
  end
  crashes = swarm.events.count { |event| event["event"] == "work_isolated" }
  must("crash no further node: #{crashes}") { crashes.between?(3, 4) }

  File.write("#{swarm.directory}/fixed", "")
  swarm.skep("reload", "poisoned").then { |error| must("reload: #{error}") { error.nil? } }
  swarm.follow("every message is handled") { done.call.sort == %w[0 1 2 3 4] }
  must("report no suspect") { swarm.status("poisoned")["suspects"].empty? }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
