# frozen_string_literal: true

# A message fails at each attempt, while the swarm is restarted node by node, stopped and started
# again: it is tried exactly max_attempts times before it is a dead letter. Ordered by key,
# and by partition.
require_relative "scenario"

ATTEMPTS = 8

KafkaScenario.play do
  { partition: ", retry_for: 1", key: "" }.each do |order, more|
    orders, dead = topic("orders-#{order}", 1), topic("dead-#{order}", 1)
    tries, others = File.join(directory, "tries-#{order}"), File.join(directory, "others-#{order}")
    start = lambda do
      run_swarm(<<~RUBY, arguments: %w[--log-level debug])
        require "skep/kafka"
        source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                         group: "#{order}", topics: ["#{orders}"],
                                         ordered_by: :#{order}, max_messages: 1, retry_backoff: 0.3,
                                         dead_letter_topic: "#{dead}", max_attempts: #{ATTEMPTS}#{more})
        Skep.swarm "#{order}", nodes: 1 do |swarm|
          swarm.work(source) do |batch, node|
            batch.each do |message|
              bad = message.key == "bad"
              File.write(bad ? "#{tries}" : "#{others}", "\#{node.id} \#{message.offset}\\n", mode: "a")
              raise "always" if bad
            end
          end
        end
      RUBY
    end
    lines = ->(path) { File.exist?(path) ? File.readlines(path).size : 0 }
    feed(orders, [["first", "f", 0], ["bad", "0", 0], *(1..20).map { |n| ["k#{n}", n.to_s, 0] }])

    swarm = start.call
    swarm.await("handler_failed", times: 2)
    swarm.signal(:USR2)
    swarm.await("restart_finished")
    swarm.await("handler_failed")
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    must("have tried it #{lines.call(tries)} times") { lines.call(tries).between?(3, ATTEMPTS - 2) }

    swarm = start.call
    swarm.await("dead_lettered")
    swarm.follow("the others are done") { lines.call(others) == 21 }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    must("try it #{ATTEMPTS} times, not #{lines.call(tries)}, by #{order}") do
      lines.call(tries) == ATTEMPTS
    end
  end
end
