# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

# An exception of any class fails a batch, wherever the user's code raises it; only what is to end
# the process ends the node.
class KafkaUserErrorsTest < Skep::TestCase
  Odd = Class.new(Exception) # rubocop:disable Lint/InheritException -- as some libraries do
  # What raises, by the name of the error's class.
  # An exception of which nothing can be asked.
  class Broken < StandardError
    %i[message to_s inspect backtrace cause full_message detailed_message].each do |name|
      define_method(name) { |*, **| raise NotImplementedError, "#{name} raises" }
    end

    def self.name = raise("the class has no name")
  end

  FAILURES = { "KafkaUserErrorsTest::Broken, whose message raised NotImplementedError" =>
                 ->(_) { raise Broken },
               "SystemStackError" => ->(one) { FAILURES["SystemStackError"].call(one) },
               "KafkaUserErrorsTest::Odd" => ->(_) { raise Odd },
               "NotImplementedError" => ->(_) { raise NotImplementedError } }.freeze
  ENDING = [SystemExit, Interrupt, NoMemoryError].freeze
  private_constant :Odd, :FAILURES, :ENDING

  def setup
    missing = Skep::Kafka::Librdkafka::Bindings.missing_library
    missing(missing) if missing
  end

  FAILURES.each do |name, failure|
    test "#{name} of a handler makes a dead letter of its message" do
      result = run_source do |batch|
        batch.each { |message| failure.call(message) if message.payload == "b" }
      end

      assert_dead_lettered name, result
    end

    test "#{name} of a filter, a deserializer or a key makes a dead letter of its message" do
      bad = ->(payload) { failure.call(payload) if payload == "b" }
      [{ filter: ->(message) { bad.call(message.payload) || true } },
       { deserializer: ->(payload, _) { bad.call(payload) || payload } },
       { ordered_by: ->(message) { bad.call(message.payload) || "k" } }].each do |options|
        result = run_source(**options) { |batch| batch.each { nil } }

        assert_dead_lettered name, result
      end
    end
  end

  { "throw" => ->(_) { throw :left },
    "return" => ->(left) { left.call } }.each do |way, leave|
    test "a handler that is left by #{way} makes a dead letter of its message" do
      result = leaving do |left|
        run_source { |batch| batch.each { |message| leave.call(left) if message.payload == "b" } }
      end

      assert_dead_lettered "Skep::Kafka::HandlerLeft", result
    end

    test "#{way} out of a filter, a deserializer or a key makes a dead letter of its message" do
      [->(bad) { { filter: ->(message) { bad.call(message.payload) || true } } },
       ->(bad) { { deserializer: ->(payload, _) { bad.call(payload) || payload } } },
       ->(bad) { { ordered_by: ->(message) { bad.call(message.payload) || "k" } } }].each do |made|
        result = leaving do |left|
          options = made.call(->(payload) { leave.call(left) if payload == "b" })
          run_source(**options) { |batch| batch.each { nil } }
        end

        assert_dead_lettered "Skep::Kafka::HandlerLeft", result
      end
    end
  end

  # As a copy of the node it would take the wakeups of the node's threads.
  { "returns" => [-> {}, 0], "raises" => [-> { raise "in the child" }, 1],
    "exits" => [-> { exit(3) }, 3],
    "throws" => [-> { throw :left }, 0] }.each do |way, (leave, code)|
    test "a process that a handler forks without a block and that #{way} ends there" do
      own, result, statuses = Process.pid, nil, []
      _, told = capture_subprocess_io do
        result = leaving do
          run_source do |batch|
            pid = fork or next leave.call
            statuses << Process.wait2(pid).last.exitstatus
            batch.each { nil }
          end
        end
      ensure
        exit!(99) if Process.pid != own
      end

      assert_equal [[code], %w[a b c]], [statuses, result.done.map(&:payload)]
      assert_match(/forked has left it, and ends\. Use fork \{/, told)
    end
  end

  # It counts as a crash of its message, which the scoreboard still has.
  test "`exit` and `abort` in a handler end the node, and are reported with their message" do
    { -> { exit(3) } => 3, -> { exit } => 0, -> { abort } => 1 }.each do |leave, exit_status|
      node = Skep::Kafka::Testing.node
      assert_raises(SystemExit) do
        run_source(node:) { |batch| batch.each { |one| leave.call if one.payload == "b" } }
      end
      facts = node.events_named(:handler_exited).first

      assert_equal [1, 2, exit_status], facts.values_at(:offset, :last_offset, :exit_status)
      assert_match(/user_errors_test.rb:\d+\z/, facts[:at])
      assert_equal ["t/0/0-2", 1], [node.in_flight_texts.last, node.current_items.last]
    end
  end

  # With one, skep's own bug would end each node that gets the message, and blame none for it.
  test "the message that failed remains in flight until its failure is settled" do
    node = Skep::Kafka::Testing.node
    node.define_singleton_method(:event) { |*, **| raise "the report fails" }
    error = assert_raises(RuntimeError) { run_source(node:) { |batch| batch.each { raise "bad" } } }

    assert_equal ["the report fails", "bad"], [error, error.cause].map(&:message)
    assert_equal ["t/0/0-2"], node.in_flight_texts
    assert_equal [0], node.current_items
  end

  test "nothing is in flight while the on_error blocks run, which may never return" do
    texts = []
    node = Skep::Kafka::Testing.node(on_error: [->(*) { texts << node.in_flight_texts.last }])
    run_source(node:) { raise "bad" }

    assert_equal [nil], texts.uniq
    refute_empty texts
  end

  ENDING.each do |error|
    test "#{error} of a handler ends the node, and of a deserializer, too" do
      assert_raises(error) { run_source { raise error.allocate } }
      assert_raises(error) { run_source(deserializer: ->(*) { raise error.allocate }) { nil } }
    end
  end

  private

  def assert_dead_lettered(name, result)
    payloads = [result.dead_lettered, result.done].map { |all| all.map(&:payload) }
    assert_equal [%w[b], %w[a c]], payloads
    assert_match(/\A#{name}(: |\z)/, result.dead_letters.first.headers["skep.error"])
  end

  # A `throw :left`, and a call of what the block gets, leave this method.
  def leaving
    result = nil
    catch(:left) { result = yield(proc { return }) }
    result
  end

  def run_source(node: Skep::Kafka::Testing.node, **options)
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                     topics: "t", dead_letter_topic: "dead", max_attempts: 2,
                                     **options)
    Skep::Kafka::Testing.run(source, %w[a b c], node:) { |batch, _| yield batch }
  end
end
