# frozen_string_literal: true

require "kafka/support/kafka_case"
require "rdkafka"

class KafkaEmbeddedBrokerTest < KafkaCase
  test "delivers messages of one process to another" do
    broker(orders: 3)
    pid, reader = in_child { feed("orders", [%w[k across]]) }
    assert_predicate Process.wait2(pid).last, :success?
    got = nil
    play { |batch, node| (got = batch.payloads) and node.stop! }
    assert_equal %w[across], got
    refute_nil reader
  end

  test "exits with its owner although another process holds its pipe" do
    skip "a fallback can't watch a process that isn't its child" unless Skep::OS.native?
    witness, held = IO.pipe
    owner, reader = in_child do |writer|
      held.close
      started = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 1 })
      holder = fork { witness.read and exit!(0) }
      writer.puts "#{started.pid} #{holder}"
      witness.read
    end
    pid, holder = wait_readable(reader).gets.split.map(&:to_i)
    broker_pidfd = Skep.pidfd(pid)
    holder_pidfd = Skep.pidfd(holder)
    Process.kill("KILL", owner)
    Process.wait(owner)

    refute_nil broker_pidfd.wait(timeout: 5)
    held.close
    refute_nil holder_pidfd.wait(timeout: 5)
    [broker_pidfd, holder_pidfd, witness].each(&:close)
  end

  test "publish yields after each 1,000 messages, and returns how many have arrived" do
    broker(orders: 2)
    feed = Skep::Kafka::Testing::TopicSeeder.new(@broker.bootstrap_servers, "orders")
    sizes = []
    assert_equal 2_500, feed.publish((0...2_500).map { |n| ["k#{n}", "v"] }) { |n| sizes << n }
    assert_equal [1_000, 2_000], sizes
    feed.close
  end

  test "reset replaces the topics, and removes messages and groups" do
    before = broker(orders: 1).bootstrap_servers
    feed("orders", [%w[k first]])
    play { |_, node| node.stop! }
    @broker.reset(topics: { "orders" => 2 })
    refute_equal before, @broker.bootstrap_servers
    feed("orders", [["k", "second", 1]])
    assert_equal %w[second], payloads_of("orders", 1)
    assert_empty redelivered - %w[second]
  end

  test "answers after the round trip time" do
    assert_operator seconds_of_an_answer(0.3), :>=, 0.3
  end

  test "raises if a message can't be written" do
    broker(orders: 1).refuse("orders")
    feed = Skep::Kafka::Testing::TopicSeeder.new(@broker.bootstrap_servers, "orders",
                                 kafka: { "message.timeout.ms" => 500 })
    assert_raises(Skep::Kafka::DeliveryFailed) { feed.publish([%w[k v]]) }
    feed.close
  end

  private

  def seconds_of_an_answer(round_trip_time)
    embedded = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 1 }, round_trip_time:)
    settings = { "bootstrap.servers" => embedded.bootstrap_servers }
    client = Rdkafka::Config.new(settings).admin
    client.metadata # connected
    began = Skep::OS.now
    client.metadata
    Skep::OS.now - began
  ensure
    client&.close
    embedded&.stop
  end
end
