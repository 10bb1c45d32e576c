# frozen_string_literal: true

# A topic is deleted and created again while a swarm waits for messages, and the swarm stops before
# it has noticed. After the next start it reads the new topic from its beginning: not one message is
# considered done, whether the source keeps the order of partitions or of keys. By key, a
# message in a long backoff holds the committed offset back.
require_relative "scenario"
require "rdkafka"

BEFORE, AFTER = 100, 150 # messages

KafkaScenario.play do
  recreate = lambda do |name|
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    admin.delete_topic(name).wait(max_wait_timeout: 15)
    begin
      admin.create_topic(name, 1, 1).wait(max_wait_timeout: 15)
    rescue Rdkafka::RdkafkaError => e
      raise unless e.code == :topic_already_exists # the deletion isn't complete

      retry
    end
  ensure
    admin&.close
  end

  { partition: BEFORE, key: BEFORE - 1 }.each do |order, done|
    name = topic("by_#{order}", 1)
    log = File.join(directory, "#{order}.log")
    start = lambda do
      run_swarm(<<~RUBY)
        require "skep/kafka"
        source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                         group: "#{order}", topics: "#{name}", commit_interval: 0.2,
                                         ordered_by: :#{order}, retry_backoff: 600)
        Skep.swarm "#{order}", nodes: 1 do |swarm|
          swarm.work(source) do |batch, _|
            batch.each do |message|
              raise "always" if message.payload == "old 40" && #{order == :key}
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
    swarm.follow("the old messages are done") { lines.call.uniq.size == done }
    offset = order == :key ? 40 : BEFORE
    swarm.follow("that is committed") { committed(order.to_s, name, 1) == offset }
    swarm.follow_for(1) # the failure, too
    recreate.call(name)
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    reported = swarm.events.any? { |event| event["event"] == "kafka_topic_recreated" }
    must("report the new topic; #{swarm.account}") { reported }

    feed(name, (0...AFTER).map { |number| [number.to_s, "new #{number}", 0] })
    swarm = start.call
    swarm.follow("the new messages are done") { lines.call.grep(/new/).uniq.size == AFTER }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  end
end
