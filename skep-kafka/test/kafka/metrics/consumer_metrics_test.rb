# frozen_string_literal: true

require "kafka/support/kafka_case"
require "support/fakes"

# What ConsumerMetrics counts, and when it publishes. No broker runs.
class KafkaConsumerMetricsTest < Skep::TestCase
  def setup
    @now = 100.0
    @node = Fakes::WorkRecorder.new([])
    @scheduler = Fakes::DoneScheduler.new([])
    @consumer = Fakes::QueriedConsumer.new
    @metrics = Skep::Kafka::Metrics::ConsumerMetrics.new(
      node: @node, scheduler: @scheduler, consumer: @consumer, group: "readers",
      clock: -> { @now }
    )
    took = @took = [] # seconds of CPU; measured ones might delay `due`
    @metrics.define_singleton_method(:cpu_time) { took.shift || 0.0 }
  end

  def teardown = @metrics.clear

  test "publishes counts, handler times and lag" do
    hold(0)
    @consumer.known[["orders", 0]] = 50
    work(0, 0..9)
    publish_at(102)

    published = @node.given.last
    assert_equal [10, 40, 5.0], published.values_at(:messages, :lag, :rate)
    row = published[:partitions].first
    assert_equal ["orders", 0, true, 10, 50, 40],
                 row.values_at("topic", "partition", "held", "position", "end", "lag")
    assert_equal [10, 1, 0, 0, 0, 1], row.values_at("messages", "batches", "retries",
                                                    "dead_letters", "skipped", "rebalances")
    assert_equal 1, row["handler"]["count"]
    assert_operator published[:handler]["p99"], :>, 0
  end

  test "publishes at most once a second, and no facts twice" do
    hold(0)
    assert_equal 0.0, @metrics.due
    publish_at(100)
    work(0, 0..9)
    assert_equal 101.0, @metrics.due
    2.times { publish_at(101.5) }
    assert_equal 2, @node.given.size
  end

  test "publishes facts again that a full channel didn't take" do
    @metrics.clock_ahead = 2.0
    @node.full = true
    publish_at(100)
    assert_equal 101.0, @metrics.due
    @node.full = false
    2.times { publish_at(101) }
    assert_equal [1, nil], [@node.given.size, @metrics.due]
  end

  test "publishes less often if publishing takes more than a hundredth of the time" do
    @took.push(0.0, 0.05)
    hold(0)
    publish_at(100)
    work(0, 0..9)
    assert_in_delta 105.0, @metrics.due
  end

  test "publishes the lag while the first batch after an idle time is in progress" do
    hold(0)
    @consumer.known[["orders", 0]] = 0
    publish_at(100)
    @scheduler.done = [["orders", 0, 0]]
    publish_at(101)
    assert_nil @metrics.due

    @consumer.known[["orders", 0]] = 50
    @metrics.time(batch(0, 0..9)) do
      assert_equal 102.0, @metrics.due
      publish_at(102)
      assert_equal 50, @node.given.last[:lag]
    end
  end

  test "publishes counts and handler times of each topic" do
    @metrics.rebalanced([["orders", 0], ["orders", 1], ["refunds", 0]], [])
    @metrics.time(batch(0, 0..9)) { nil }
    @metrics.time(batch(1, 0..9)) { nil }
    @metrics.count(batch(1, 0..9), :failures, 2)
    @metrics.time(batch(0, 0..4, "refunds")) { nil }
    publish_at(102)

    published = @node.given.last
    orders, refunds = published[:by_topic]
    assert_equal %w[orders refunds], [orders, refunds].map { |one| one["topic"] }
    assert_equal [2, 2], orders["totals"].values_at("batches", "failures")
    assert_equal [1, 0], refunds["totals"].values_at("batches", "failures")
    assert_equal([2, 1, 3], [orders, refunds].map { |one| one["handler"]["count"] } +
                            [published[:handler]["count"]])
  end

  test "publishes what fails at present, and counts the causes" do
    failing = { ["orders", 0] => { "cause" => "message" } }
    present = Struct.new(:to_plain, :pauses).new(failing, { ["orders", 0] => 140.0 })
    @metrics.instance_variable_set(:@present, [present])
    hold(0)
    2.times { @metrics.verdict(batch(0, 0..9), :message) }
    publish_at(102)
    published = @node.given.last
    assert_equal({ "cause" => "message" }, published[:partitions].first["failing"])
    assert_equal 2, published[:by_topic].first["totals"]["verdict_message"]
    assert_in_delta 140.0, published[:partitions].first["paused_until"]
    present.to_plain = present.pauses = {}
    @metrics.moved
    publish_at(104)
    assert_empty @node.given.last[:partitions].first.keys & %w[failing paused_until]
  end

  test "publishes a partition whose messages don't come, until its position moves" do
    @scheduler.done = [["orders", 0, 10]]
    hold(0)
    publish_at(100)
    @metrics.stalling({ ["orders", 0] => 70.0, ["orders", 9] => 70.0 })
    publish_at(101)
    assert_in_delta 70.0, @node.given.last[:partitions].first["stalling_since"]
    @scheduler.done = [["orders", 0, 11]]
    @metrics.moved
    publish_at(102)
    refute @node.given.last[:partitions].first.key?("stalling_since")
  end

  test "publishes an outage of the brokers, and that clocks are apart" do
    hold(0)
    publish_at(100)
    @metrics.outage = { "since" => 97.0, "error" => "refused" }
    @metrics.clock_ahead = 42.46
    publish_at(100.1)
    assert_equal({ "since" => 97.0, "error" => "refused" }, @node.given.last[:outage])
    assert_equal({ "seconds" => 42.5, "seen" => 100.0 }, @node.given.last[:clock_ahead])
    @metrics.outage = nil
    publish_at(103)
    refute @node.given.last.key?(:outage)
  end

  test "publishes since when it has had no assignment, once that has lasted for long" do
    @metrics.rebalanced([["orders", 0]], [], assigned: false)
    publish_at(100)
    refute @node.given.last.key?(:unassigned_since)
    assert_in_delta 130.0, @metrics.due
    publish_at(130)
    assert_in_delta 100.0, @node.given.last[:unassigned_since]
    @metrics.rebalanced([], [], assigned: false)
    publish_at(140)
    assert_in_delta 100.0, @node.given.last[:unassigned_since]
    @metrics.outage = nil # the brokers were unreachable meanwhile
    publish_at(145)
    refute @node.given.last.key?(:unassigned_since)
    publish_at(170)
    assert_in_delta 140.0, @node.given.last[:unassigned_since]
    hold(0)
    publish_at(171)
    refute @node.given.last.key?(:unassigned_since)
  end

  test "publishes since when a partition's lag isn't known" do
    hold(0)
    publish_at(100)
    assert_kind_of Float, @node.given.last[:partitions].first["lag_unknown_since"]
    @consumer.known[["orders", 0]] = 0
    @scheduler.done = [["orders", 0, 0]]
    @metrics.moved
    publish_at(102)
    refute @node.given.last[:partitions].first.key?("lag_unknown_since")
  end

  test "publishes librdkafka's statistics once they arrive, and no client before" do
    hold(0)
    publish_at(100)
    refute @node.given.last.key?(:client)
    publish_at(@metrics.due) # the brokers' answers
    @metrics.statistics = Skep::Kafka::Metrics::ClientStatistics.new('{"replyq": 3}')
    publish_at(@metrics.due)
    assert_equal 3, @node.given.last[:client]["queued_events"]
  end

  test "publishes a dead letter at once" do
    hold(0)
    publish_at(100)
    work(0, 0..9)
    @metrics.count(batch(0, 0..9), :dead_letters)
    assert_equal 100.0, @metrics.due
  end

  test "publishes a rate of 0 after the last message, and then stops" do
    hold(0)
    @consumer.known[["orders", 0]] = 10
    work(0, 0..9)
    publish_at(101)
    assert_operator @node.given.last[:rate], :>, 0
    assert_in_delta 110, @metrics.due, 2
    publish_at(@metrics.due)
    assert_equal 0.0, @node.given.last[:rate]
    assert_nil @metrics.due
  end

  test "counters keep lost partitions, but the lag excludes them" do
    hold(0)
    @consumer.known[["orders", 0]] = 50
    work(0, 0..9)
    publish_at(101)
    @metrics.rebalanced([["orders", 0]], [])
    publish_at(102)
    published = @node.given.last
    assert_equal [0, 10], published.values_at(:lag, :messages)
    assert_equal [false, nil, 10, 2],
                 published[:partitions].first.values_at("held", "lag", "messages", "rebalances")
    assert_equal 2, published[:totals]["rebalances"]
  end

  test "publishes no lag of a partition that is lost during the query" do
    hold(0)
    @consumer.known[["orders", 0]] = 50
    work(0, 0..9)
    metrics = @metrics
    @scheduler.define_singleton_method(:positions) do
      super().tap { metrics.rebalanced([["orders", 0]], []) }
    end
    publish_at(101)

    assert_equal [0, 10], @node.given.last.values_at(:lag, :messages)
  end

  test "queries an unchanged end offset less and less often, and all due partitions at once" do
    hold(0, 1)
    [0, 1].each { |number| @consumer.known[["orders", number]] = 50 }
    [0, 1].each { |number| work(number, 0..9) }
    @consumer.answers = { ["orders", 0] => 50, ["orders", 1] => 5_000 }
    publish_at(101)
    assert_empty @consumer.asked

    queried_at = Array.new(7) { when_queried }.compact
    assert_equal 4_990 + 40, @node.given.last[:lag]
    assert_operator queried_at[-1] - queried_at[-2], :>, 2 * (queried_at[1] - queried_at[0])
  end

  test "repeats an unanswered query for an end offset after the same time" do
    hold(0)
    @consumer.known[["orders", 0]] = 50
    work(0, 0..9)
    publish_at(100)
    queried_at = Array.new(6) do
      publish_at(@metrics.due)
      queries, @consumer.asked = @consumer.asked, []
      @now if queries.any?
    end.compact
    assert_equal [10.0, 10.0], queried_at.each_cons(2).map { |one, next_| next_ - one }.last(2)
    @consumer.answers = { ["orders", 0] => 80 }
    publish_at(@metrics.due)
    assert_equal 70, @node.given.last[:lag]
  end

  test "repeats a query for a beginning offset with growing intervals until it is answered" do
    hold(0)
    @consumer.known[["orders", 0]] = 10
    @consumer.committed_offsets = nil
    publish_at(100)
    times = Array.new(4) { publish_at(@metrics.due) && @now }
    assert_equal [101, 103, 107, 115], times.map(&:round)
    assert_equal [:committed], @consumer.asked.map(&:first).uniq
    @consumer.committed_offsets = { ["orders", 0] => 4 }
    publish_at(@metrics.due)
    assert_equal 6, @node.given.last[:lag]
  end

  test "queries an unknown end offset although no message arrives" do
    hold(0, 1)
    @consumer.committed_offsets = { ["orders", 0] => 0, ["orders", 1] => 0 }
    @consumer.answers = { ["orders", 0] => 5, ["orders", 1] => 5 }
    publish_at(100)
    @consumer.known[["orders", 0]] = 7 # the first fetch response
    publish_at(@metrics.due)
    assert_equal [7, 5], @node.given.last[:partitions].map { |row| row["lag"] }
    assert_equal [:ends, [["orders", 1]]], @consumer.asked.first
  end

  test "queries the beginning of a partition whose first messages wait, once" do
    hold(0, 1)
    @consumer.committed_offsets = { ["orders", 0] => 7 }
    [0, 1].each { |number| @consumer.known[["orders", number]] = 10 }
    publish_at(100)
    assert_equal [nil, nil], @node.given.last[:partitions].map { |row| row["lag"] }
    publish_at(@metrics.due)
    assert_equal [3, 10], @node.given.last[:partitions].map { |row| row["lag"] }
    assert_equal %i[committed starts], @consumer.asked.map(&:first)
    3.times { publish_at(@metrics.due) }
    assert_equal %i[committed starts], @consumer.asked.map(&:first).first(2)
    refute_includes @consumer.asked.drop(2).map(&:first), :committed
  end

  test "queries the beginning again when a partition is assigned again" do
    hold(0)
    @consumer.known[["orders", 0]] = 10
    publish_at(100)
    publish_at(@metrics.due)
    assert_equal [10], @node.given.last[:partitions].map { |row| row["lag"] }
    @consumer.committed_offsets = { ["orders", 0] => 10 } # none of the messages was for a handler
    hold(0)
    publish_at(@metrics.due)
    publish_at(@metrics.due)
    assert_equal [0], @node.given.last[:partitions].map { |row| row["lag"] }
  end

  test "keeps rows of the partitions that were revoked last, and the totals of all" do
    350.times do |number|
      key = ["orders", number]
      @metrics.rebalanced([key], [key])
      work(number, 0..9)
      @metrics.rebalanced([key], [])
    end
    hold(350)
    publish_at(102)

    published = @node.given.last
    assert_equal (250..350).to_a, published[:partitions].map { |row| row["partition"] }
    assert_equal [3_500, 350], published[:totals].values_at("messages", "batches")
    assert_equal 350, published[:handler]["count"]
  end

  test "adds up the topics after the first ones, also those that come and go" do
    120.times { |number| @metrics.count(batch(0, 0..9, "orders.#{number}"), :messages, 10) }
    publish_at(102)

    by_topic = @node.given.last[:by_topic]
    assert_equal [51, "other", 700],
                 [by_topic.size, by_topic.last["topic"], by_topic.last["totals"]["messages"]]
    assert_equal 1_200, @node.given.last[:messages]
  end

  test "reports 3,000 assigned partitions with 9,000 earlier ones within the limit" do
    9_000.times do |number|
      key = ["a.topic.with.a.long.name", number]
      @metrics.rebalanced([key], [key])
      @metrics.time(batch(number, 0..0, key.first)) { nil }
      @metrics.rebalanced([key], []) if number < 6_000
    end
    publish_at(102)
    plain = Skep::Swarm::IPC::WorkFacts.cut(@node.given.last, :partitions)

    assert_equal [3_100, 9_000], [plain["partitions"].size, plain["totals"]["batches"]]
    assert_nil Skep::Swarm::IPC::Messages::FROM_NODE.fault("work", { "facts" => plain })
    refute plain.key?("partitions_left_out")
    refute plain["partitions"].first.key?("handler")
  end

  test "the lag leaves out what is done behind the position" do
    hold(0)
    @consumer.known[["orders", 0]] = 200_001
    @scheduler.done = [["orders", 0, 0, 200_000]]
    publish_at(101)

    assert_equal [0, 1], @node.given.last[:partitions].first.values_at("position", "lag")
  end

  test "counts the assigned partitions whose lag isn't known" do
    hold(0, 1)
    @consumer.known[["orders", 0]] = 50
    work(0, 0..9)
    publish_at(100)
    assert_equal [40, 1], @node.given.last.values_at(:lag, :lag_unknown)
    @metrics.rebalanced([["orders", 1]], [["orders", 0]])
    publish_at(101)
    assert_equal 0, @node.given.last[:lag_unknown]
  end

  private

  def hold(*numbers)
    keys = numbers.map { |number| ["orders", number] }
    @metrics.rebalanced(keys, keys)
  end

  def batch(number, offsets, topic = "orders")
    messages = offsets.map do |offset|
      Skep::Kafka::Message.new(topic, number, offset, nil, "v", -1, {})
    end
    Skep::Kafka::Processing::Slice.new(topic, number, messages)
  end

  def work(number, offsets)
    batch = batch(number, offsets)
    @metrics.time(batch) { nil }
    @metrics.count(batch, :messages, batch.size)
    @scheduler.done = [*@scheduler.done, ["orders", number, offsets.last + 1]]
  end

  def publish_at(now)
    @now = now.to_f
    @metrics.publish
    true
  end

  # Publishes at the next due time. Returns that time if the brokers were queried.
  def when_queried
    publish_at(@metrics.due)
    queries, @consumer.asked = @consumer.asked, []
    return if queries.empty?

    assert_equal [[:ends, [["orders", 0], ["orders", 1]]]], queries
    @now
  end
end
