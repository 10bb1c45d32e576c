# frozen_string_literal: true

require "kafka/support/kafka_case"

# What a handler can say of its batch: that part of it is done, not now, and from there; and what
# never reaches a handler.
class KafkaFlowTest < KafkaCase
  PRODUCE, OFFSET_COMMIT, INIT_PRODUCER_ID = 0, 8, 22
  REQUEST_TIMED_OUT, INVALID_SIZE, TOPIC_REFUSED, CLUSTER_REFUSED = 7, 28, 29, 31
  private_constant :PRODUCE, :OFFSET_COMMIT, :INIT_PRODUCER_ID
  private_constant :REQUEST_TIMED_OUT, :INVALID_SIZE, :TOPIC_REFUSED, :CLUSTER_REFUSED

  def setup
    super
    broker(orders: 2, dead: 1)
  end

  test "tries again only what comes after a mark" do
    fill(6)
    seen = []
    events = play({ max_wait: 60, batch: 6 }) do |batch, child|
      batch.each do |message|
        seen << message.offset
        raise IOError if message.offset == 3 && seen.count(3) == 1

        batch.mark(message)
      end
      child.stop!
    end

    assert_equal [0, 1, 2, 3, 3, 4, 5], seen
    assert_equal [3, 5], named(events, "handler_failed").first.values_at(:offset, :last_offset)
    assert_equal 6, named(events, "count").sum { |facts| facts[:number] }
  end

  test "keeps a mark when the node ends with what comes after it" do
    fill(6)
    assert_raises(NoMemoryError) do
      play({ commit_every: 0.1 }) do |batch, _|
        batch.each { |message| message.offset == 3 ? raise(NoMemoryError) : batch.mark(message) }
      end
    end
    first = nil
    play { |batch, child| (first = batch.first_offset) && child.stop! }

    assert_equal 3, first
  end

  test "counts the failures of each message for itself where there are marks" do
    fill(4)
    tries = Hash.new(0)
    events = play({ dead_letter: "dead", attempts: 3 }) do |batch, child|
      batch.each do |message|
        raise IOError if (tries[message.offset] += 1) < 3

        batch.mark(message)
        child.stop! if message.offset == 3
      end
    end

    assert_empty named(events, "dead_lettered")
    assert_equal [3] * 4, tries.values
  end

  test "tries again, and sets aside, what was read, whatever the handler has made of it" do
    broker(orders: 2, dead: 1)
    feed("orders", [%w[key HEADbody]])
    %i[partition key].each do |ordered_by|
      seen = []
      buried = ->(name, _, child) { child.stop! if name == "dead_lettered" }
      more = { ordered_by:, group: ordered_by.to_s, dead_letter: "dead", attempts: 3 }
      play(more, told: buried) do |batch, _|
        seen << batch.messages.map { |one| [one.key.slice!(0, 3), one.payload.slice!(0, 4)] }
        batch.each { |message| message.payload.clear && raise("never") }
      end
      assert_equal [[%w[key HEAD]]], seen.uniq
    end

    assert_equal %w[HEADbody] * 2, payloads_of("dead", 2)
  end

  # One that can't say what it is about.
  class Speechless < StandardError
    def message = raise(IOError, "no words")
  end

  test "tries again, and sets aside, what fails with an error that can't be put into words" do
    feed("orders", (0...3).map { |n| ["k", n.to_s] })
    errors = [Speechless.new, "naïf".encode("UTF-16LE"), "na\xEFf".b]
    buried = ->(name, facts, one) { one.stop! if name == "dead_lettered" && facts[:offset] == 2 }
    events = play({ dead_letter: "dead", attempts: 2, batch: 1 }, told: buried) do |batch, _|
      raise errors[batch.first_offset]
    end
    failed, dead = %w[handler_failed dead_lettered].map do |name|
      named(events, name).map { |facts| facts[:error] }
    end

    assert_equal ["KafkaFlowTest::Speechless, whose message raised IOError",
                  "RuntimeError: naïf", "RuntimeError: na?f"], dead
    assert_equal dead, failed
    assert_equal %w[0 1 2], payloads_of("dead", 3)
  end

  test "sets a message aside once it may, after its producer was refused for good" do
    feed("orders", [["k", "first", 0], ["k", "second", 0]])
    buried = 0
    told = lambda do |name, _, child|
      next unless name == "dead_lettered"
      next child.stop! if (buried += 1) == 2

      @broker.fail_next(PRODUCE, TOPIC_REFUSED)
      @broker.fail_next(INIT_PRODUCER_ID, CLUSTER_REFUSED)
    end
    events = play({ batch: 1, dead_letter: "dead", attempts: 1 }, told:) { raise "bad" }

    assert_equal [0, 1], named(events, "dead_lettered").map { |facts| facts[:offset] }
    assert_match(/can't deliver a message to dead/, named(events, "handler_failed").to_s)
  end

  test "says so where a handler raises that had marked all" do
    fill(2)
    events = play do |batch, child|
      batch.mark(batch.last_offset)
      child.stop! if batch.last_offset == 1
      raise IOError, "too late"
    end

    assert_match(/marked as done before/, named(events, "handler_failed").last[:note])
    assert_equal 2, named(events, "count").sum { |facts| facts[:number] }
  end

  test "lets a partition rest when the handler says not now, and others go on" do
    fill(4)
    fill(3, 1)
    seen = []
    paused = nil
    events = play({ max_wait: 60, batch: 4 }) do |batch, child|
      seen << [batch.partition, batch.first_offset]
      next if batch.partition == 1
      next child.stop! if paused

      fill(1, 1)
      batch.mark(1)
      paused = Skep::OS.now
      batch.pause(1)
    end

    assert_equal [[0, 0], [1, 0], [0, 2]], seen
    assert_operator Skep::OS.now - paused, :>=, 1
    assert_equal [[0, 2, 1]], named(events, "kafka_paused").map { |facts|
      facts.values_at(:partition, :offset, :seconds)
    }
    assert_empty named(events, "handler_failed")
  end

  { 2 => 2, :beginning => 0, :end => 10 }.each do |place, offset|
    test "goes on at #{place} when the handler says so" do
      fill(10)
      seen = []
      feed_more = ->(name, _, _) { fill(5) if name == "kafka_seek" }
      events = play({ max_wait: 60, batch: 5 }, told: feed_more) do |batch, child|
        seen << batch.first_offset
        batch.seek(place) if seen.size == 2
        child.stop! if seen.size == 3
      end

      assert_equal [0, 5, offset], seen
      assert_equal [[place.to_s, offset]], named(events, "kafka_seek").map { |facts|
        facts.values_at(:to, :offset)
      }
    end
  end

  # What came in for 0 lies in its queue still, but is of before the seek, when the next comes in.
  test "goes on at a place even if more has come in by the time it goes there" do
    fill(5)
    came = Thread::Queue.new
    seen = []
    play({ threads: 2 }) do |batch, child|
      next came << true if batch.partition == 1

      seen << batch.first_offset
      next child.stop! if seen.size == 2

      fill(5)
      fill(1, 1) # of one reply, or a later one
      came.pop
      batch.seek(0)
    end

    assert_equal [0, 0], seen
  end

  test "goes on at the end where nothing is as young as the handler says" do
    fill(10)
    asked = nil
    feed_more = ->(name, _, _) { fill(5) if name == "kafka_seek" }
    events = play({ max_wait: 60, batch: 5 }, told: feed_more) do |batch, child|
      asked ? child.stop! : batch.seek(asked = Time.now + 3600)
    end

    assert_equal [10], named(events, "kafka_seek").map { |facts| facts[:offset] }
  end

  test "moves only once the place is committed, and tries until it is" do
    fill(10)
    seen = []
    events = play({ max_wait: 60, batch: 5 }) do |batch, child|
      seen << batch.first_offset
      next child.stop! if seen.size == 2

      @broker.fail_next(OFFSET_COMMIT, INVALID_SIZE)
      batch.seek(3)
    end

    assert_equal [0, 3], seen
    assert_equal 1, named(events, "kafka_seek").size
    assert_match(/rejected a commit/, named(events, "kafka_error").first[:message])
  end

  test "has committed the place it was sent to, though nothing has been done there" do
    fill(10)
    play({ max_wait: 60, batch: 5 }) do |batch, child|
      next batch.seek(3) if batch.first_offset == 5
      next unless batch.first_offset == 3

      batch.pause(60)
      child.stop!
    end

    assert_equal 3, next_offset
  end

  test "replays from a place while other keys are in hand, once those are through" do
    fill(40)
    lock = Mutex.new
    seen = []
    sought = nil
    play({ ordered_by: :key, threads: 3, batch: 6 }) do |batch, child|
      lock.synchronize { batch.each { |message| seen << message.offset } }
      IO.select(nil, nil, nil, 0.002)
      lock.synchronize do
        next child.stop! if sought && seen.drop(sought).uniq.size == 40
        next if sought || seen.size < 20

        sought = seen.size
        batch.seek(0)
      end
    end

    assert_equal (0...40).to_a, seen.drop(sought).uniq.sort
  end

  test "never hands over what the filter leaves out, and counts it as done" do
    fill(100)
    seen = []
    filter = ->(message) { message.payload.to_i.between?(50, 59) }
    events = play({ batch: 10, filter: }, told: stop_after(100)) do |batch, _|
      seen.concat(batch.payloads)
    end

    assert_equal (50..59).map(&:to_s), seen
    assert_equal 90, named(events, "work").last[:totals]["filtered"]
    assert_equal 100, next_offset
  end

  test "takes a filter that raises for a handler that raises" do
    fill(4)
    seen = []
    filter = ->(message) { message.payload == "2" ? raise(IOError, "no idea") : true }
    source = { filter:, dead_letter: "dead", attempts: 2 }
    events = play(source, told: stop_after(4)) { |batch| seen.concat(batch.payloads) }

    assert_equal %w[0 1 3], seen
    assert_match(/no idea/, named(events, "dead_lettered").first[:error])
    assert_equal 2, named(events, "dead_lettered").first[:offset]
  end

  test "marks nothing of a batch that its handler is through with" do
    fill(4)
    kept = nil
    told = ->(name, _, child) { child.stop! if name == "handler_failed" }
    events = play({ ordered_by: :key, threads: 1, batch: 2 }, told:) do |batch, child|
      kept ||= batch
      kept.mark(kept.first_offset)
      child.stop! if batch.last_offset == 3
    end

    assert_empty named(events, "handler_failed")
    assert_equal 4, next_offset
  end

  test "marks in what the filter has left, with all before it" do
    fill(6)
    seen = []
    play({ filter: ->(message) { message.offset.odd? }, max_wait: 60, batch: 6 }) do |batch, child|
      seen << batch.map(&:offset)
      next child.stop! if seen.size == 2

      batch.mark(3)
      raise IOError
    end

    assert_equal [[1, 3, 5], [5]], seen
  end

  test "dead letters are written at once, and all the same, whatever a producer is told" do
    broker(orders: 1, dead: 1)
    feed("orders", [%w[k bad]])
    [{ "acks" => "1" }, { "linger.ms" => 60_000 },
     { "queue.buffering.max.ms" => 60_000, "message.timeout.ms" => 300_000 },
     { "message.timeout.ms" => 0 }].each_with_index do |kafka, number|
      began = Skep::OS.now
      buried = ->(name, _, child) { child.stop! if name == "dead_lettered" }
      play({ dead_letter: "dead", attempts: 1, group: "group#{number}",
             kafka: @broker.settings.merge(kafka) }, told: buried) { raise IOError, "no idea" }
      assert_operator Skep::OS.now - began, :<, 25, kafka.inspect
    end
    assert_equal ["bad"] * 4, payloads_of("dead", 4)
  end

  test "settings that no producer takes keep a message that can't be done, and say so" do
    broker(orders: 1, dead: 1)
    feed("orders", [["k", "bad", 0]])
    failures = []
    told = lambda do |name, facts, child|
      failures << facts[:error] if name == "handler_failed"
      child.stop! if failures.size == 2
    end
    play({ dead_letter: "dead", attempts: 1, kafka: @broker.settings.merge("retries" => 0) },
         told:) { raise IOError, "no idea" }

    assert_match(/DeliveryFailed: can't deliver .* to dead \(.*`retries` must be/, failures.first)
    assert_equal %w[bad], again
  end

  test "waits for no dead letter longer than a stop lets it, however many threads have one" do
    feed("orders", [["k", "a", 0], ["k", "b", 1]])
    began = nil
    there, go = Thread::Queue.new, Thread::Queue.new
    events = play({ dead_letter: "dead", attempts: 1, threads: 2 }) do |_, child|
      if (there << true).size == 2
        @broker.fail_next(PRODUCE, *[REQUEST_TIMED_OUT] * 1_000) # which it sends once more
        child.time_left = 6.0
        began = child.stop! && Skep::OS.now
        go.close
      end
      go.pop
      raise IOError, "no idea"
    end
    took = Skep::OS.now - began
    found = []
    play { |batch, child| found.concat(batch.payloads).size == 2 && child.stop! }

    assert_operator took, :<, 20
    assert_empty named(events, "dead_lettered")
    assert_equal %w[a b], found.sort
  end

  private

  def fill(count, partition = 0)
    feed("orders", (0...count).map { |n| ["k#{n % 5}", n.to_s, partition] })
  end

  # When so many are counted as done.
  def stop_after(count)
    done = 0
    lambda do |name, facts, child|
      child.stop! if name == "count" && (done += facts[:number]) >= count
    end
  end

  # Where the next member of the group begins.
  def next_offset
    fill(1)
    offset = nil
    play { |batch, child| (offset ||= batch.first_offset) && child.stop! }
    offset
  end
end
