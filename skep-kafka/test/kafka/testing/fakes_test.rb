# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"
require "support/doubles"

# Each fake has the methods of the real class that are called in a test run, with the same
# parameters. A method that is added to the real class, or called for the first time, fails here.
class KafkaTestingFakesTest < Skep::TestCase
  include Doubles

  Kafka = Skep::Kafka
  Testing = Kafka::Testing
  # Only NodeMain calls this.
  NOT_OF_NODE = %i[leave].freeze
  # What a source calls beyond the public methods.
  OF_NODE = %i[__lend].freeze
  # Only the group member calls them, which a test run doesn't have.
  NOT_OF_PRODUCERS = %i[init_transactions close].freeze
  # The folders whose code runs in a test run.
  RUN = "skep-kafka/lib/skep/kafka/{database_offsets,processing/**/*,failure/**/*,metrics/**/*}.rb"
  private_constant :Kafka, :Testing, :NOT_OF_NODE, :OF_NODE, :NOT_OF_PRODUCERS, :RUN

  test "FakeNode has the public methods of Node" do
    names = own_methods(Skep::Swarm::Node).reject { |name| name.start_with?("__") }
    assert_stands_for Testing::FakeNode, Skep::Swarm::Node, names - NOT_OF_NODE + OF_NODE
  end

  test "FakeNode has the methods of a worker thread's node" do
    names = Skep::Swarm::Processes::ThreadContext.public_instance_methods(false)
    names = names.reject { |name| name.start_with?("__") } + OF_NODE
    refute_empty names
    assert_empty names - Testing::FakeNode.public_instance_methods
  end

  test "FakeProducer has the methods of HandlerProducer and TransactionalProducer" do
    real = Kafka::Producer
    assert_stands_for Testing::FakeProducer, real::HandlerProducer
    assert_empty own_methods(real::TransactionalProducer) - Testing::FakeProducer.public_instance_methods
  end

  test "what FakeProducer returns has the public methods of DeliveryHandle" do
    producer = Testing::FakeProducer.new([])
    delivery = producer.produce("orders", "payload")
    names = Kafka::DeliveryHandle.public_instance_methods(false)
    names = names.reject { |name| name.start_with?("__") } - %i[inspect]
    assert_stands_for delivery.class, Kafka::DeliveryHandle, names
    assert_equal "orders/0/1", producer.produce_sync("orders", "payload").to_s
  end

  test "FakeProducers has the methods of HandlerProducers that a worker calls" do
    names = own_methods(Kafka::Producer::HandlerProducers) - NOT_OF_PRODUCERS
    assert_stands_for Testing::FakeProducers, Kafka::Producer::HandlerProducers, names
  end

  test "FakeConsumer has the methods of Consumer that are called in a test run" do
    code = Dir[RUN].flat_map { |path| File.readlines(path, encoding: "UTF-8").grep_v(/\A\s*#/) }
    calls = /(?<!\.)\b(?:consumer|offset_store)&?\.(\w+[?!]?)/
    called = code.flat_map { |line| line.scan(calls) }.flatten.uniq.map(&:to_sym)
    assert_includes called, :store
    assert_stands_for Testing::FakeConsumer, Kafka::Consumer, called
  end

  test "FakeLog has the methods of PartitionQueue" do
    assert_stands_for Testing::FakeLog, Kafka::Librdkafka::PartitionQueue
  end

  { Testing::FakeDeadLetterQueue => Kafka::Failure::DeadLetterQueue }.each do |fake, real|
    test "#{fake} overrides methods that #{real} has" do
      overridden = fake.instance_methods(false) + fake.private_instance_methods(false)
      overridden -= %i[initialize inspect messages written]
      refute_empty overridden
      assert_empty overridden - real.instance_methods - real.private_instance_methods
      assert_equal(overridden.to_h { |name| [name, kinds(real.instance_method(name))] },
                   overridden.to_h { |name| [name, kinds(fake.instance_method(name))] })
    end
  end
end
