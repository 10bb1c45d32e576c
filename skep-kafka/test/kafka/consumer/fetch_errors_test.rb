# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/swarm"
require "kafka/support/fake_node"
require "support/fakes"

# When FetchErrors retries an unreadable offset, and what it reports.
class KafkaFetchErrorsTest < Skep::TestCase
  def setup
    super
    @now = 7.0
    @fetch_errors = Skep::Kafka::Consumer::FetchErrors.new(
      settings: nil, consumer: nil, report: nil, clock: -> { @now }
    )
  end

  def teardown
    @fetch_errors.close
    super
  end

  test "the backoff grows while the same offset fails, and starts again for another" do
    waits = [12, 12, 12, 40].map do |offset|
      @fetch_errors.retry_later(Fakes::PartitionReader.new(["orders", 3]), offset)
      @fetch_errors.seconds_left
    end

    assert_in_delta 1, waits[0], 0.2
    assert_in_delta 2, waits[1], 0.4
    assert_in_delta 4, waits[2], 0.8
    assert_in_delta 1, waits[3], 0.2
  end

  test "seconds_left is the time until the first retry" do
    3.times { @fetch_errors.retry_later(Fakes::PartitionReader.new(["orders", 3]), 12) }
    @fetch_errors.retry_later(Fakes::PartitionReader.new(["orders", 4]), 12)

    assert_in_delta 1, @fetch_errors.seconds_left, 0.2
  end

  test "keeps the retry of an offset that fails again while it is resumed" do
    reader = Fakes::PartitionReader.new(["orders", 3], -> { @fetch_errors.retry_later(reader, 12) })
    @fetch_errors.retry_later(reader, 12)
    @now += 60
    @fetch_errors.retry_due([reader])

    assert_in_delta 2, @fetch_errors.seconds_left, 0.4
  end

  test "forgets the failures of a revoked partition" do
    readers = [0, 1].map { |number| Fakes::PartitionReader.new(["orders", number]) }
    3.times { readers.each { |reader| @fetch_errors.retry_later(reader, 12) } }
    @fetch_errors.retry_due([readers.first])
    readers.each { |reader| @fetch_errors.retry_later(reader, 12) }

    assert_equal [[["orders", 0], [12, 4]], [["orders", 1], [12, 1]]],
                 @fetch_errors.instance_variable_get(:@failures).to_a
  end

  test "drops the retries of a revoked partition" do
    @fetch_errors.retry_later(Fakes::PartitionReader.new(["orders", 3]), 12)
    @fetch_errors.retry_due([])

    assert_nil @fetch_errors.seconds_left
  end

  test "reports messages as lost that retention deleted, or that a reset to the end skips" do
    assert_equal [["beginning", nil], ["beginning", [10, 27, 18]]],
                 [reset({}, nil), reset({}, 28)]
    assert_equal ["end", [10, 29, 20]], reset({ "auto.offset.reset": "latest" }, 28)
  end

  private

  # Returns what is reported if the offset 30 is read instead of 10.
  def reset(kafka, low)
    reported = {}
    fetch_errors = fetch_errors_that_report(kafka) { |name, facts| reported[name] = facts }
    fetch_errors.reset(Fakes::PartitionReader.new(["orders", 3]), 10, 30, low)
    [reported["kafka_offset_reset"][:to],
     reported["messages_lost"]&.values_at(:offset, :last_offset, :messages)]
  ensure
    fetch_errors&.close
  end

  def fetch_errors_that_report(kafka, &on_event)
    node = FakeNode.new(&on_event)
    options = Skep::Kafka::Config::SourceOptions.new(
      kafka: { "bootstrap.servers": "127.0.0.1:1", **kafka }, group: "readers", topics: "orders"
    )
    report = Skep::Kafka::Metrics::EventReporter.new(node, options.settings)
    node.close
    Skep::Kafka::Consumer::FetchErrors.new(settings: options.settings, consumer: nil, report:)
  end
end
