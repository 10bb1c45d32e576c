# frozen_string_literal: true

require "kafka/support/kafka_case"

# Runs sources against a broker, one node at a time.
class KafkaSourceTest < KafkaCase
  test "yields every message of a partition in order, with key, headers and timestamp" do
    broker(orders: 2)
    feed("orders", (0...200).map { |n| ["k#{n}", "payload #{n}", n % 2] } + [[nil, nil, 0]])
    seen = Hash.new { |all, partition| all[partition] = [] }
    events = play({ max_messages: 64 }) do |batch, node|
      assert_operator batch.size, :<=, 64
      assert_equal [batch.first_offset, batch.last_offset], batch.map(&:offset).minmax
      seen[batch.partition].concat(batch.messages)
      node.stop! if seen.values.sum(&:size) == 201
    end

    assert_equal (0..100).to_a, seen[0].map(&:offset)
    assert_equal (0...200).select(&:odd?).map { |n| "payload #{n}" }, seen[1].map(&:payload)
    first = seen[1].first
    assert_equal ["orders", 1, "k1"], [first.topic, first.partition, first.key]
    assert_in_delta Time.now.to_f, first.timestamp.to_f, 60
    assert_equal [nil, nil], [seen[0].last.key, seen[0].last.payload]
    assert_equal 201, named(events, "processed").sum { |facts| facts[:number] }
  end

  test "reports readiness, assignment, work in flight and the end of the assignment" do
    broker(orders: 2)
    feed("orders", [%w[k v]])
    events = play { |_, node| node.stop! }

    names = events.map(&:first) - %w[work kafka_rebalance]
    assert_equal %w[ready assigned in_flight processed in_flight assigned], names
    assert_equal [true, false], named(events, "assigned").map { |facts| facts[:assigned] }
    assert_equal({ "orders" => [0, 1] }, named(events, "assigned").first[:partitions])
    assert_match %r{\Aorders/[01]/0-0\z}, named(events, "in_flight").first[:text]
    assert_nil named(events, "in_flight").last[:text]
  end

  test "retries a failing batch with a growing backoff, then continues with the partition" do
    broker(orders: 1)
    feed("orders", (0...9).map { |n| ["k", n.to_s] })
    tries = 0
    seen = []
    events = play({ max_messages: 3, max_wait: 60 }) do |batch, node|
      # the first message may be alone in its batch
      raise IOError, "the disk is away" if batch.first_offset.zero? && (tries += 1) < 3

      seen.concat(batch.map(&:offset))
      node.stop! if seen.last == 8
    end

    failures = named(events, "handler_failed")
    assert_equal [1, 2], failures.map { |facts| facts[:attempt] }
    assert_equal ["IOError: the disk is away", "orders", 0, 0, 2],
                 failures.first.values_at(:error, :topic, :partition, :offset, :last_offset)
    assert_operator failures[1][:retry_in], :>, failures[0][:retry_in]
    assert_equal (0..8).to_a, seen
  end

  test "processes other partitions while a batch keeps failing, and stops during its backoff" do
    broker(orders: 3)
    feed("orders", (0...300).map { |n| ["k", n.to_s, n % 3] })
    lock = Mutex.new
    done = 0
    started = nil
    play({ threads: 2, retry_backoff: 20, max_messages: 10 }) do |batch, node|
      raise "never" if batch.partition == 1

      lock.synchronize { done += batch.size }
      started = Skep::OS.now
      node.stop! if done == 200
    end
    assert_operator Skep::OS.now - started, :<, 15

    again = []
    play({ retry_backoff: 0.01 }) do |batch, node|
      again << batch.first_offset if batch.partition == 1
      node.stop! if batch.partition == 1
    end
    assert_equal [0], again
  end

  test "processes different partitions concurrently, each on one thread at a time" do
    broker(orders: 4)
    feed("orders", (0...400).map { |n| ["k", n.to_s, n % 4] })
    lock = Mutex.new
    busy = []
    peak = 0
    offsets = Hash.new { |all, partition| all[partition] = [] }
    barrier = Thread::Queue.new
    events = play({ threads: 3, max_messages: 10 }) do |batch, node|
      lock.synchronize do
        flunk "two batches of #{batch.partition} at once" if busy.include?(batch.partition)
        busy << batch.partition
        peak = [peak, busy.size].max
        offsets[batch.partition].concat(batch.map(&:offset))
        2.times { barrier << true } if busy.size == 3
      end
      barrier.pop if lock.synchronize { peak < 3 } # the first threads wait until three work
      lock.synchronize do
        busy.delete(batch.partition)
        node.stop! if offsets.values.sum(&:size) == 400
      end
    end

    assert_empty named(events, "handler_failed")
    assert_equal 3, peak
    assert_equal [(0...100).to_a] * 4, offsets.values
    assert_equal [1, 2, 3], named(events, "in_flight").map { |facts| facts[:thread] }.uniq.sort
  end

  test "keeps its membership while a handler takes longer than max.poll.interval.ms" do
    broker(orders: 1)
    feed("orders", [%w[k v]])
    settings = @broker.settings.merge("max.poll.interval.ms" => 1_600)
    never, writer = IO.pipe
    events = play({ kafka: settings }) do |_, node|
      never.wait_readable(2.5)
      node.stop!
    end
    [never, writer].each(&:close)

    changes = named(events, "kafka_rebalance").map { |facts| facts[:change] }
    assert_equal %w[assigned revoked], changes
    assert_empty named(events, "kafka_error") + named(events, "kafka_revoked_in_flight")
  end

  test "continues at the offset where the previous node stopped" do
    broker(orders: 2)
    feed("orders", (0...100).map { |n| ["k", n.to_s, n % 2] })
    seen = []
    play { |batch, node| seen.concat(batch.payloads) and (node.stop! if seen.size == 100) }
    feed("orders", [["k", "next", 0]])
    again = []
    play { |batch, node| again.concat(batch.payloads) and node.stop! }

    assert_equal %w[next], again
  end

  test "reads a message larger than the fetch size, and can dead-letter it" do
    broker(orders: 1, dead: 1)
    large = "x" * 2_000_000
    feed = Skep::Kafka::Testing::TopicSeeder.new(@broker.bootstrap_servers, "orders",
                                 kafka: { "message.max.bytes" => 3_000_000 })
    feed.publish([["k", large], %w[k small]])
    feed.close
    settings = @broker.settings.merge("fetch.message.max.bytes" => 1_000)
    events = play({ kafka: settings, dead_letter_topic: "dead", max_attempts: 1 }) do |batch, node|
      raise "too large for me" if batch.payloads.include?(large)

      node.stop! if batch.payloads == %w[small]
    end

    assert_equal(%w[dead], named(events, "dead_lettered").map { |facts| facts[:to] })
  end

  # The leader doesn't move back at once: librdkafka 2.11 may then stop fetching until its next
  # metadata request, five minutes later (docs/reference/failures.md).
  test "reads each message once after another broker becomes the leader" do
    @broker = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 1 }, nodes: 2)
    feed("orders", (0...100).map { |n| ["k", n.to_s] })
    seen = []
    leaders = { 100 => 2, 200 => 1 }
    events = play do |batch, node|
      seen.concat(batch.map(&:offset))
      move_and_feed(leaders[seen.size], seen.size) if leaders.key?(seen.size)
      node.stop! if seen.size >= 300
    end

    assert_equal (0...300).to_a, seen
    assert_empty named(events, "kafka_error") + named(events, "kafka_disconnected")
  ensure
    @broker&.stop
  end

  test "fetches no work when quiet, and keeps its partitions until it stops" do
    broker(orders: 2)
    feed("orders", (0...100).map { |n| ["k", n.to_s, n % 2] })
    sizes = []
    on_event = lambda do |name, facts, node|
      node.stop! if name == "kafka_error" || (name == "in_flight" && facts[:text].nil?)
    end
    events = play({ max_messages: 10, max_wait: 60 }, on_event:) do |batch, node|
      sizes << batch.size
      node.quiet!
    end

    assert_equal [10], sizes
    assert_equal [true, false], named(events, "assigned").map { |facts| facts[:assigned] }
  end

  [1, 3].each do |threads|
    test "a quiet node with #{threads} threads that resumes processes each message once" do
      broker(orders: 2)
      feed_orders(0...100)
      seen = Queue.new
      resuming = nil
      on_event = lambda do |name, facts, node|
        next unless name == "in_flight" && facts[:text].nil? && node.quiet?

        resuming ||= Thread.new { feed_orders(100...150) && node.resume! }
      end
      play({ max_messages: 10, threads: }, on_event:) do |batch, node|
        batch.each { |message| seen << Integer(message.payload) }
        node.quiet! unless resuming
        node.stop! if seen.size >= 150
      end
      resuming.join

      assert_equal (0...150).to_a, Array.new(seen.size) { seen.pop }.sort
    end
  end

  test "ends with an exception that isn't a StandardError" do
    broker(orders: 1)
    feed("orders", [%w[k v]])
    assert_equal 7, assert_raises(SystemExit) { play { exit 7 } }.status
    assert_equal 8, assert_raises(SystemExit) { play({ threads: 2 }) { exit 8 } }.status
  end

  test "dead-letters only the message that keeps failing, and continues" do
    broker(orders: 1, dead: 1)
    feed("orders", %w[a b bad c].map { |payload| [payload, payload] })
    done = []
    line = nil
    events = play({ dead_letter_topic: "dead", max_attempts: 2 }) do |batch, node|
      line = __LINE__ + 1
      raise ArgumentError, "can't read it" if batch.payloads.include?("bad")

      done.concat(batch.payloads)
      node.stop! if done.include?("c")
    end
    dead = nil
    play({ topics: "dead", group: "letters" }) do |batch, node|
      dead = batch.first
      node.stop!
    end

    assert_equal %w[a b c], done
    assert_equal 1, named(events, "dead_lettered").size
    assert_equal [1, 2], (named(events, "on_error").map { |context| context[:attempt] })
    failed = named(events, "handler_failed").first
    assert_match(/source_test\.rb:#{line}:/, failed[:backtrace].first)
    assert_equal failed[:at], named(events, "dead_lettered").first[:at]
    assert_equal %w[bad bad], [dead.key, dead.payload]
    assert_equal({ "skep.topic" => "orders", "skep.partition" => "0", "skep.offset" => "2",
                   "skep.error" => "ArgumentError: can't read it", "skep.attempts" => "2",
                   "skep.error_at" => "#{__FILE__.delete_prefix("#{Dir.pwd}/")}:#{line}",
                   "skep.host" => Socket.gethostname, "skep.revision" => "4f0c1e2" },
                 dead.headers)
  end

  test "a handler that ends its thread has failed, and another thread takes its place" do
    broker(orders: 1, dead: 1)
    feed("orders", %w[a bad b].map { |payload| ["k", payload, 0] })
    done = []
    events = nil
    _, told = capture_io do
      events = play({ threads: 2, dead_letter_topic: "dead", max_attempts: 2 }) do |batch, node|
        batch.each do |message|
          Thread.exit if message.payload == "bad"
          done << message.payload
        end
        node.stop! if done.last == "b"
      end
    end

    assert_equal %w[a b], done.uniq
    assert_match(/worker.+a new thread starts/, told)
    assert_match(/HandlerLeft: .+Thread#exit/, named(events, "dead_lettered").first[:error])
  end

  test "logs a failure that repeats, and calls on_error for it, once in ten seconds" do
    broker(orders: 3)
    feed("orders", (0..2).map { |partition| ["k", "bad", partition] })
    tries = Thread::Queue.new
    seen = {}
    events = play({ threads: 3 }) do |batch, node|
      seen[batch.partition] = true
      tries << true
      node.stop! if tries.size >= 12 && seen.size == 3
      raise IOError, "away"
    end
    failed = named(events, "handler_failed")

    assert_operator failed.size, :>=, 12
    assert_equal 1, (failed.count { |facts| facts[:level] == :error })
    assert_equal 1, (failed.count { |facts| facts[:backtrace] })
    assert_equal 1, named(events, "on_error").size
    assert_match(/no dead_letter_topic: it is retried until it succeeds/, failed.first[:hint])
    assert_equal [3], (failed.map { |facts| facts[:hint] }.compact.tally.values)
  end

  test "says why a message that has failed max_attempts times isn't dead-lettered yet" do
    broker(orders: 1)
    feed("orders", [["k", "bad", 0]])
    tries = 0
    events = play({ dead_letter_topic: "dead", max_attempts: 2, retry_for: 60 }) do |_, node|
      node.stop! if (tries += 1) == 3
      raise ArgumentError, "no amount"
    end
    hints = named(events, "handler_failed").to_h { |facts| facts.values_at(:attempt, :hint) }

    assert_nil hints.fetch(1)
    assert_match(/Too few other messages .+ after retry_for/, hints.fetch(2))
  end

  test "reports each error at a marked message: nothing follows it" do
    broker(orders: 1)
    feed("orders", [["k", "bad", 0], ["k", "bad", 0]])
    events = play do |batch, node|
      batch.each do |message|
        node.stop! if message.offset == 1
        batch.mark(message)
        raise IOError, "after the mark"
      end
    end
    failed = named(events, "handler_failed")

    assert_equal([[0, :error, nil], [1, :error, nil]],
                 failed.map { |facts| facts.values_at(:offset, :level, :retry_in) })
    assert_equal 2, named(events, "on_error").size
  end

  test "dead-letters a message with all values of a repeated header" do
    broker(orders: 1, dead: 1)
    feed("orders", [["k", "bad", 0]], headers: { "a" => %w[1 2 3], "b" => nil })
    on_event = ->(name, _, node) { node.stop! if name == "dead_lettered" }
    play({ dead_letter_topic: "dead", max_attempts: 1 }, on_event:) { raise "bad" }
    headers = nil
    play({ topics: "dead", group: "letters" }) do |batch, node|
      headers = batch.first.headers
      node.stop!
    end

    assert_equal [%w[1 2 3], nil, "orders"], headers.values_at("a", "b", "skep.topic")
    assert headers.key?("b")
  end

  private

  def feed_orders(numbers)
    feed("orders", numbers.map { |n| ["k", n.to_s, n % 2] })
    true
  end

  def move_and_feed(leader, first)
    @broker.lead("orders", 0, leader)
    feed("orders", (first...first + 100).map { |n| ["k", n.to_s] })
  end
end
