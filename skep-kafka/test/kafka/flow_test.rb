# frozen_string_literal: true

require "kafka/support/kafka_case"

# What a handler does with mark, pause and seek, and which messages never reach a handler.
class KafkaFlowTest < KafkaCase
  PRODUCE, OFFSET_COMMIT, INIT_PRODUCER_ID = 0, 8, 22
  REQUEST_TIMED_OUT, INVALID_SIZE, TOPIC_REFUSED, CLUSTER_REFUSED = 7, 28, 29, 31
  private_constant :PRODUCE, :OFFSET_COMMIT, :INIT_PRODUCER_ID
  private_constant :REQUEST_TIMED_OUT, :INVALID_SIZE, :TOPIC_REFUSED, :CLUSTER_REFUSED

  def setup
    super
    broker(orders: 2, dead: 1)
  end

  test "retries only the messages after a mark" do
    fill(6)
    seen = []
    events = play({ max_wait: 60, max_messages: 6 }) do |batch, node|
      batch.each do |message|
        seen << message.offset
        raise IOError if message.offset == 3 && seen.count(3) == 1

        batch.mark(message)
      end
      node.stop!
    end

    assert_equal [0, 1, 2, 3, 3, 4, 5], seen
    assert_equal [3, 5], named(events, "handler_failed").first.values_at(:offset, :last_offset)
    assert_equal 6, named(events, "processed").sum { |facts| facts[:number] }
  end

  test "a mark survives a node that crashes at a later message" do
    fill(6)
    assert_raises(NoMemoryError) do
      play({ commit_interval: 0.1 }) do |batch, _|
        batch.each { |message| message.offset == 3 ? raise(NoMemoryError) : batch.mark(message) }
      end
    end
    first = nil
    play { |batch, node| (first = batch.first_offset) && node.stop! }

    assert_equal 3, first
  end

  test "counts the failures of each message separately after marks" do
    fill(4)
    tries = Hash.new(0)
    events = play({ dead_letter_topic: "dead", max_attempts: 3 }) do |batch, node|
      batch.each do |message|
        raise IOError if (tries[message.offset] += 1) < 3

        batch.mark(message)
        node.stop! if message.offset == 3
      end
    end

    assert_empty named(events, "dead_lettered")
    assert_equal [3] * 4, tries.values
  end

  test "dead-letters a message as it was read, although the handler changed its strings" do
    broker(orders: 2, dead: 1)
    feed("orders", [%w[key HEADbody]])
    %i[partition key].each do |ordered_by|
      seen = []
      on_event = ->(name, _, node) { node.stop! if name == "dead_lettered" }
      more = { ordered_by:, group: ordered_by.to_s, dead_letter_topic: "dead", max_attempts: 3 }
      play(more, on_event:) do |batch, _|
        seen << batch.messages.map { |one| [one.key.slice!(0, 3), one.payload.slice!(0, 4)] }
        batch.each { |message| message.payload.clear && raise("never") }
      end
      assert_equal [[%w[key HEAD]]], seen.uniq
    end

    assert_equal %w[HEADbody] * 2, payloads_of("dead", 2)
  end

  # An error whose message can't be read.
  class WithoutMessage < StandardError
    def message = raise(IOError, "no words")
  end

  test "retries and dead-letters a message whose error can't be described" do
    feed("orders", (0...3).map { |n| ["k", n.to_s] })
    errors = [WithoutMessage.new, "naïf".encode("UTF-16LE"), "na\xEFf".b]
    on_event = lambda do |name, facts, node|
      node.stop! if name == "dead_lettered" && facts[:offset] == 2
    end
    events = play({ dead_letter_topic: "dead", max_attempts: 2, max_messages: 1 },
                  on_event:) do |batch, _|
      raise errors[batch.first_offset]
    end
    failed, dead = %w[handler_failed dead_lettered].map do |name|
      named(events, name).map { |facts| facts[:error] }
    end

    assert_equal ["KafkaFlowTest::WithoutMessage, whose message raised IOError",
                  "RuntimeError: naïf", "RuntimeError: na?f"], dead
    assert_equal dead, failed
    assert_equal %w[0 1 2], payloads_of("dead", 3)
  end

  test "dead-letters a message once the broker allows it again" do
    feed("orders", [["k", "first", 0], ["k", "second", 0]])
    letters = 0
    on_event = lambda do |name, _, node|
      next unless name == "dead_lettered"
      next node.stop! if (letters += 1) == 2

      @broker.fail_next(PRODUCE, TOPIC_REFUSED)
      @broker.fail_next(INIT_PRODUCER_ID, CLUSTER_REFUSED)
    end
    options = { max_messages: 1, dead_letter_topic: "dead", max_attempts: 1 }
    events = play(options, on_event:) { raise "bad" }

    assert_equal [0, 1], named(events, "dead_lettered").map { |facts| facts[:offset] }
    assert_match(/Can't deliver a message to dead/, named(events, "handler_failed").to_s)
  end

  test "reports a handler that raises after it has marked all messages" do
    fill(2)
    events = play do |batch, node|
      batch.mark(batch.last_offset)
      node.stop! if batch.last_offset == 1
      raise IOError, "too late"
    end

    assert_match(/had been marked/, named(events, "handler_failed").last[:hint])
    assert_equal 2, named(events, "processed").sum { |facts| facts[:number] }
  end

  test "pause delays only the partition of the batch" do
    fill(4)
    fill(3, 1)
    seen = []
    paused = nil
    events = play({ max_wait: 60, max_messages: 4 }) do |batch, node|
      seen << [batch.partition, batch.first_offset]
      next if batch.partition == 1
      next node.stop! if paused

      fill(1, 1)
      batch.mark(1)
      paused = Skep::OS.now
      batch.pause(1)
    end

    assert_equal [[0, 0], [1, 0], [0, 2]], seen
    assert_operator Skep::OS.now - paused, :>=, 1
    assert_equal [[0, 2, 1]], named(events, "kafka_paused").map { |facts|
      facts.values_at(:partition, :offset, :retry_in)
    }
    assert_empty named(events, "handler_failed")
  end

  { 2 => 2, :beginning => 0, :end => 10 }.each do |place, offset|
    test "seek continues at #{place}" do
      fill(10)
      seen = []
      feed_more = ->(name, _, _) { fill(5) if name == "kafka_seek" }
      events = play({ max_wait: 60, max_messages: 5 }, on_event: feed_more) do |batch, node|
        seen << batch.first_offset
        batch.seek(place) if seen.size == 2
        node.stop! if seen.size == 3
      end

      assert_equal [0, 5, offset], seen
      assert_equal [[place.to_s, offset]], named(events, "kafka_seek").map { |facts|
        facts.values_at(:to, :offset)
      }
    end
  end

  # Messages of partition 0 that arrived before the seek are still in its queue at the seek.
  test "seek continues at the place although messages arrive meanwhile" do
    fill(5)
    arrived = Thread::Queue.new
    seen = []
    play({ threads: 2 }) do |batch, node|
      next arrived << true if batch.partition == 1

      seen << batch.first_offset
      next node.stop! if seen.size == 2

      fill(5)
      fill(1, 1) # in the same fetch response, or in a later one
      arrived.pop
      batch.seek(0)
    end

    assert_equal [0, 0], seen
  end

  test "seek to a Time after the last message continues at the end" do
    fill(10)
    sought = nil
    feed_more = ->(name, _, _) { fill(5) if name == "kafka_seek" }
    events = play({ max_wait: 60, max_messages: 5 }, on_event: feed_more) do |batch, node|
      sought ? node.stop! : batch.seek(sought = Time.now + 3600)
    end

    assert_equal [10], named(events, "kafka_seek").map { |facts| facts[:offset] }
  end

  test "seek takes effect once its offset is committed, and retries the commit" do
    fill(10)
    seen = []
    events = play({ max_wait: 60, max_messages: 5 }) do |batch, node|
      seen << batch.first_offset
      next node.stop! if seen.size == 2

      @broker.fail_next(OFFSET_COMMIT, INVALID_SIZE)
      batch.seek(3)
    end

    assert_equal [0, 3], seen
    assert_equal 1, named(events, "kafka_seek").size
    assert_match(/rejected a commit/, named(events, "kafka_error").first[:error])
  end

  test "seek commits its offset before a message is processed there" do
    fill(10)
    play({ max_wait: 60, max_messages: 5 }) do |batch, node|
      next batch.seek(3) if batch.first_offset == 5
      next unless batch.first_offset == 3

      batch.pause(60)
      node.stop!
    end

    assert_equal 3, next_offset
  end

  test "seek by key waits for the keys in flight" do
    fill(40)
    lock = Mutex.new
    seen = []
    sought = nil
    play({ ordered_by: :key, threads: 3, max_messages: 6 }) do |batch, node|
      lock.synchronize { batch.each { |message| seen << message.offset } }
      IO.select(nil, nil, nil, 0.002)
      lock.synchronize do
        next node.stop! if sought && seen.drop(sought).uniq.size == 40
        next if sought || seen.size < 20

        sought = seen.size
        batch.seek(0)
      end
    end

    assert_equal (0...40).to_a, seen.drop(sought).uniq.sort
  end

  test "filtered messages are never yielded, and count as done" do
    fill(100)
    seen = []
    filter = ->(message) { message.payload.to_i.between?(50, 59) }
    events = play({ max_messages: 10, filter: }, on_event: stop_after(100)) do |batch, _|
      seen.concat(batch.payloads)
    end

    assert_equal (50..59).map(&:to_s), seen
    assert_equal 90, named(events, "work").last[:totals]["filtered"]
    assert_equal 100, next_offset
  end

  test "a filter that raises is treated like a handler that raises" do
    fill(4)
    seen = []
    filter = ->(message) { message.payload == "2" ? raise(IOError, "no idea") : true }
    source = { filter:, dead_letter_topic: "dead", max_attempts: 2 }
    events = play(source, on_event: stop_after(4)) { |batch| seen.concat(batch.payloads) }

    assert_equal %w[0 1 3], seen
    assert_match(/no idea/, named(events, "dead_lettered").first[:error])
    assert_equal 2, named(events, "dead_lettered").first[:offset]
  end

  test "payloads that aren't JSON are dead-lettered at once, the others are handled in order" do
    feed("orders", (0...7).map { |n| [nil, [2, 5].include?(n) ? "{" : "[#{n}]", 0] })
    seen = []
    source = { deserializer: :json, dead_letter_topic: "dead" }
    events = play(source, on_event: stop_after(7)) { |batch| seen.concat(batch.map(&:value)) }

    assert_equal [[0], [1], [3], [4], [6]], seen
    dead = named(events, "dead_lettered")
    assert_equal [2, 5], dead.map { |facts| facts[:offset] }
    assert_match(/InvalidPayload: the payload \(1 bytes\) isn't JSON/, dead.first[:error])
    assert_empty named(events, "handler_failed")
    assert_equal 7, next_offset
  end

  test "a serializer makes the payloads of what the handler produces" do
    feed("orders", [[nil, "[1]", 0]])
    more = { deserializer: :json, serializer: :json }
    play(more, on_event: stop_after(1)) do |batch, node|
      batch.each { |message| node.producer.produce("out", { "was" => message.value }) }
    end
    assert_equal ['{"was":[1]}'], payloads_of("out", 1)
  end

  test "a deserializer that raises is treated like a handler that raises at that message" do
    fill(4)
    seen, failures = [], 0
    deserializer = lambda do |payload, _headers|
      raise IOError, "registry away" if payload == "1" && (failures += 1) < 3

      payload.to_i
    end
    events = play({ deserializer: }, on_event: stop_after(4)) do |batch|
      seen.concat(batch.map(&:value))
    end

    assert_equal [0, 1, 2, 3], seen
    assert_equal [1], named(events, "handler_failed").map { |facts| facts[:offset] }.uniq
  end

  test "mark has no effect after the handler has returned" do
    fill(4)
    kept = nil
    on_event = ->(name, _, node) { node.stop! if name == "handler_failed" }
    events = play({ ordered_by: :key, threads: 1, max_messages: 2 }, on_event:) do |batch, node|
      kept ||= batch
      kept.mark(kept.first_offset)
      node.stop! if batch.last_offset == 3
    end

    assert_empty named(events, "handler_failed")
    assert_equal 4, next_offset
  end

  test "mark covers the filtered messages before it" do
    fill(6)
    seen = []
    filter = ->(message) { message.offset.odd? }
    play({ filter:, max_wait: 60, max_messages: 6 }) do |batch, node|
      seen << batch.map(&:offset)
      next node.stop! if seen.size == 2

      batch.mark(3)
      raise IOError
    end

    assert_equal [[1, 3, 5], [5]], seen
  end

  test "dead letters don't depend on the producer's settings" do
    broker(orders: 1, dead: 1)
    feed("orders", [%w[k bad]])
    [{ "acks" => "1" }, { "linger.ms" => 60_000 },
     { "queue.buffering.max.ms" => 60_000, "message.timeout.ms" => 300_000 },
     { "message.timeout.ms" => 0 }].each_with_index do |kafka, number|
      began = Skep::OS.now
      on_event = ->(name, _, node) { node.stop! if name == "dead_lettered" }
      play({ dead_letter_topic: "dead", max_attempts: 1, group: "group#{number}",
             kafka: @broker.settings.merge(kafka) }, on_event:) { raise IOError, "no idea" }
      assert_operator Skep::OS.now - began, :<, 25, kafka.inspect
    end
    assert_equal ["bad"] * 4, payloads_of("dead", 4)
  end

  test "invalid producer settings keep a failing message in its partition, and are reported" do
    broker(orders: 1, dead: 1)
    feed("orders", [["k", "bad", 0]])
    failures = []
    on_event = lambda do |name, facts, node|
      failures << facts[:error] if name == "handler_failed"
      node.stop! if failures.size == 2
    end
    kafka = @broker.settings.merge("retries" => 0)
    play({ dead_letter_topic: "dead", max_attempts: 1, kafka: }, on_event:) do
      raise IOError, "no idea"
    end

    assert_match(/DeliveryFailed: Can't deliver .* to dead \(.*`retries` must be/, failures.first)
    assert_equal %w[bad], redelivered
  end

  test "a stop limits the wait for dead letters of all threads" do
    feed("orders", [["k", "a", 0], ["k", "b", 1]])
    began = nil
    there, go = Thread::Queue.new, Thread::Queue.new
    events = play({ dead_letter_topic: "dead", max_attempts: 1, threads: 2 }) do |_, node|
      if (there << true).size == 2
        @broker.fail_next(PRODUCE, *[REQUEST_TIMED_OUT] * 1_000) # librdkafka retries each time
        node.time_left = 6.0
        began = node.stop! && Skep::OS.now
        go.close
      end
      go.pop
      raise IOError, "no idea"
    end
    took = Skep::OS.now - began
    found = []
    play { |batch, node| found.concat(batch.payloads).size == 2 && node.stop! }

    assert_operator took, :<, 20
    assert_empty named(events, "dead_lettered")
    assert_equal %w[a b], found.sort
  end

  private

  def fill(count, partition = 0)
    feed("orders", (0...count).map { |n| ["k#{n % 5}", n.to_s, partition] })
  end

  # Returns an on_event that stops the node once so many messages are done.
  def stop_after(count)
    done = 0
    lambda do |name, facts, node|
      node.stop! if name == "processed" && (done += facts[:number]) >= count
    end
  end

  # Returns the offset at which the next member of the group begins.
  def next_offset
    fill(1)
    offset = nil
    play { |batch, node| (offset ||= batch.first_offset) && node.stop! }
    offset
  end
end
