# frozen_string_literal: true

# A topic is deleted and created again while a swarm waits for messages, and the swarm stops before
# it has noticed. After the next start it reads the new topic from its beginning: not one message is
# considered done: ordered by partition, in transactions, and ordered by key. By key, a message in a
# long backoff holds the committed offset back.
require_relative "scenario"

BEFORE, AFTER = 100, 150 # messages

KafkaScenario.play do
  { partition: "ordered_by: :partition", transactions: "transactional: true",
    key: "ordered_by: :key" }.each do |kind, option|
    name = topic("by_#{kind}", 1)
    log = File.join(directory, "#{kind}.log")
    start = lambda do
      run_swarm(<<~RUBY)
        require "skep/kafka"
        source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                         group: "#{kind}", topics: "#{name}", commit_interval: 0.2,
                                         #{option}, retry_backoff: 600)
        Skep.swarm "#{kind}", nodes: 1 do |swarm|
          swarm.work(source) do |batch, _|
            batch.each do |message|
              raise "always" if message.payload == "old 40" && #{kind == :key}
              File.write("#{log}", "\#{message.payload}\\n", mode: "a")
              batch.mark(message)
            end
          end
        end
      RUBY
    end
    lines = -> { File.exist?(log) ? File.readlines(log, chomp: true) : [] }

    feed(name, (0...BEFORE).map { |number| [number.to_s, "old #{number}", 0] })
    swarm = start.call
    swarm.follow("the old messages are done") do
      lines.call.uniq.size == (kind == :key ? BEFORE - 1 : BEFORE)
    end
    offset = kind == :key ? 40 : BEFORE
    swarm.follow("that is committed") { committed(kind.to_s, name, 1) == offset }
    swarm.follow_for(1) # until skep knows it; the failure, too
    recreate(name)
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    reported = swarm.events.any? { |event| event["event"] == "kafka_topic_recreated" }
    must("report the new topic, #{kind}; #{swarm.account}") { reported }

    feed(name, (0...AFTER).map { |number| [number.to_s, "new #{number}", 0] })
    swarm = start.call
    swarm.follow("the new messages are done") { lines.call.grep(/new/).uniq.size == AFTER }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  end
end
