# frozen_string_literal: true

require "kafka/support/kafka_case"

# A message is retried for `retry_for:` seconds before it is dead-lettered, unless others of its
# partition succeed.
class KafkaRetryForTest < KafkaCase
  LONG = 3600
  ORDERS = %i[partition key].freeze
  HANDLERS = {
    "each" => ->(batch, &block) { batch.each { |message| block.call(message.payload) } },
    "payloads" => ->(batch, &block) { batch.payloads.each(&block) }
  }.freeze
  private_constant :LONG, :ORDERS, :HANDLERS

  def setup
    super
    broker(orders: 1, dead: 1)
    @lock = Mutex.new
    @done = []
  end

  ORDERS.product(HANDLERS.to_a).each do |ordered_by, (name, handler)|
    test "by #{ordered_by}, #{name}: an outage that fails all messages dead-letters none" do
      feed("orders", (0...60).map { |n| ["k#{n}", n.to_s] })
      back = false
      on_event = lambda do |name, facts, _|
        back = true if name == "handler_failed" && facts[:attempt] == 6
      end
      more = { ordered_by:, threads: 4, dead_letter_topic: "dead", max_attempts: 2,
               retry_for: LONG }
      events = play({ **more, retry_backoff: 0.001 }, on_event:) do |batch, node|
        handler.call(batch) { raise IOError, "away" unless back }
        done(batch.payloads, node, 60)
      end

      assert_empty named(events, "dead_lettered")
      assert_equal (0...60).to_a, @done.sort
    end

    test "by #{ordered_by}, #{name}: a bad message among good ones is dead-lettered early" do
      feed("orders", (0...30).map { |n| ["k#{n}", n.to_s] })
      more = { ordered_by:, threads: 4, dead_letter_topic: "dead", max_attempts: 3,
               retry_for: LONG }
      on_event = ->(name, _, node) { done([20], node, 30) if name == "dead_lettered" }
      events = play(more, on_event:) do |batch, node|
        handler.call(batch) { |payload| raise ArgumentError, "bad" if payload == "20" }
        done(batch.payloads, node, 30)
      end

      assert_equal [20], named(events, "dead_lettered").map { |facts| facts[:offset] }
      assert_equal (0...30).to_a, @done.sort
    end
  end

  test "a single message is dead-lettered after retry_for" do
    feed("orders", [%w[k bad]])
    seconds = 0.5
    on_event = ->(name, _, node) { node.stop! if name == "dead_lettered" }
    failed_at = []
    events = play({ dead_letter_topic: "dead", max_attempts: 1, retry_for: seconds },
                  on_event:) do
      failed_at << Skep::OS.now
      raise IOError, "never"
    end

    assert_operator failed_at.last - failed_at.first, :>=, seconds * 0.9
    assert_equal [failed_at.size], named(events, "dead_lettered").map { |facts| facts[:attempt] }
  end

  test "an error that isn't retryable is dead-lettered at once" do
    feed("orders", [%w[k bad]])
    on_event = ->(name, _, node) { node.stop! if name == "dead_lettered" }
    events = play({ dead_letter_topic: "dead", retry_for: LONG }, on_event:) do
      raise IOError.new("never").extend(Skep::Kafka::NonRetryable)
    end

    assert_equal [1], named(events, "dead_lettered").map { |facts| facts[:attempt] }
  end

  test "while nothing succeeds no backoff exceeds two seconds" do
    feed("orders", [%w[k bad]])
    seconds = []
    on_event = lambda do |name, facts, node|
      seconds << facts[:retry_in] if name == "handler_failed"
      node.stop! if seconds.size == 3
    end
    play({ retry_backoff: 0.7 }, on_event:) { raise IOError, "away" }

    assert_equal 1.5, seconds.last
  end

  private

  def done(payloads, node, all)
    @lock.synchronize do
      @done.concat(payloads.map(&:to_i))
      node.stop! if @done.size == all
    end
  end
end
