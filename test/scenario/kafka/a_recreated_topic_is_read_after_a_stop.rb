# frozen_string_literal: true

# A topic is deleted and created again while a swarm waits for messages, and the swarm stops before
# it has noticed. While it is stopped, a commit arrives that should have come before. After the next
# start it reads the new topic from its beginning: not one message is considered done: ordered by
# partition, in transactions, and ordered by key. By key, a message in a long backoff holds the
# committed offset back. Messages that are done in the new topic aren't repeated later.
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
        kafka = { "bootstrap.servers": "#{broker.address}", "group.instance.id": nil }
        source = Skep::Kafka::Source.new(kafka:, group: "#{kind}", topics: "#{name}",
                                         commit_interval: 0.2, #{option}, retry_backoff: 600)
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
    group = Skep::Kafka.const_get(:Consumer).new("bootstrap.servers" => broker.address,
                                                 "group.id" => kind.to_s)
    at_end { group.close }

    feed(name, (0...BEFORE).map { |number| [number.to_s, "old #{number}", 0] })
    swarm = start.call
    swarm.follow("the old messages are done") do
      lines.call.uniq.size == (kind == :key ? BEFORE - 1 : BEFORE)
    end
    offset = kind == :key ? 40 : BEFORE
    former = nil
    swarm.follow("that is committed") do
      former = group.committed_with_metadata([[name, 0]], 5.0).to_h[[name, 0]]
      former&.first == offset
    end
    recreate(name)
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    must("accept the late commit") { group.commit([[name, 0, *former]], 30).zero? }

    feed(name, (0...AFTER).map { |number| [number.to_s, "new #{number}", 0] })
    swarm = start.call
    swarm.follow("the new messages are done") { lines.call.grep(/new/).uniq.size == AFTER }
    recreated = swarm.await("kafka_topic_recreated")
    must("name the topic: #{recreated}") { recreated["partitions"] == { name => [0] } }
    swarm.follow("they are committed") { committed(kind.to_s, name, 1) == AFTER }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

    handled = lines.call.size
    feed(name, [["more", "more", 0]])
    swarm = start.call
    swarm.follow("a further message is done") { lines.call.last == "more" }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    must("repeat nothing") { lines.call.drop(handled) == ["more"] }
  end
end
