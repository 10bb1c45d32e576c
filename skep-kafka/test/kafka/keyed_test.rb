# frozen_string_literal: true

require "kafka/support/kafka_case"
require "tmpdir"

# Sources that process messages of different keys concurrently, those of each key in order.
class KafkaKeyedTest < KafkaCase
  KEYED = { ordered_by: :key, threads: 4 }.freeze
  OFFSET_FETCH = 9
  NOT_COORDINATOR = 16
  private_constant :KEYED, :OFFSET_FETCH, :NOT_COORDINATOR

  def setup
    super
    broker(orders: 1, dead: 1, events: 4)
    @lock = Mutex.new
    @seen = []
  end

  test "processes keys concurrently, each in order and on one thread at a time" do
    feed("orders", (0...400).map { |n| ["k#{n % 7}", n.to_s] })
    busy = []
    peak = 0
    barrier = Thread::Queue.new
    play({ **KEYED, max_messages: 40 }) do |batch, node|
      keys = batch.map(&:key).uniq
      @lock.synchronize do
        flunk "#{keys & busy} with two at once" if (keys & busy).any?
        busy.concat(keys)
        peak = [peak, busy.size].max
        2.times { barrier << true } if busy.size >= 3
      end
      barrier.pop if @lock.synchronize { peak < 3 }
      @lock.synchronize { busy -= keys }
      note(batch, node, 400)
    end

    by_key = @seen.group_by { |n| n % 7 }
    assert_equal (0...400).to_a, @seen.sort
    by_key.each_value { |some| assert_equal some.sort, some }
    assert_equal 400, committed
  end

  test "a failing key delays no other key, and nothing beyond its message is committed" do
    feed("orders", (0...300).map { |n| ["k#{n % 30}", n.to_s] })
    events = play({ **KEYED, retry_backoff: 20, max_messages: 50 }) do |batch, node|
      batch.each do |message|
        raise "never" if message.key == "k3"

        batch.mark(message)
        @lock.synchronize { @seen << message.payload.to_i }
      end
    ensure
      @lock.synchronize { node.stop! if @seen.size == 290 }
    end

    assert_equal (0...300).reject { |n| n % 30 == 3 }, @seen.sort
    assert_equal [3], named(events, "handler_failed").map { |facts| facts[:offset] }
    assert_equal 3, committed
  end

  test "what is done beyond the offset is left out, though the coordinator moves meanwhile" do
    feed("orders", [%w[bad 0], *(1...30).map { |n| ["k#{n}", n.to_s] }])
    seen = []
    2.times do |time|
      @broker.fail_next(OFFSET_FETCH, *[NOT_COORDINATOR] * 3) if time == 1
      play({ **KEYED, retry_backoff: 0.3, max_messages: 50 }) do |batch, node|
        batch.each do |message|
          raise "never" if message.key == "bad"

          batch.mark(message)
          @lock.synchronize { seen << message.payload.to_i }
        end
      ensure
        @lock.synchronize { node.stop! if time == 1 || seen.size == 29 }
      end
    end

    assert_equal (1...30).to_a, seen.sort
  end

  test "a failing key doesn't delay a key whose messages are all marked" do
    feed("orders", %w[a b a a].map { |key| [key, key] })
    play({ **KEYED, threads: 1, max_messages: 2, retry_backoff: 20 }) do |batch, node|
      batch.each do |message|
        raise "never" if message.key == "b"

        batch.mark(message)
        @seen << message.offset
        node.stop! if @seen.size == 3
      end
    end

    assert_equal [0, 2, 3], @seen
  end

  test "on_poison: :pause pauses only the key of the poison message" do
    feed("orders", (0...20).map { |n| ["k#{n % 5}", n.to_s] })
    poison = { "in_flight" => "orders/0/7-7", "current_item" => 7, "crashes" => 3, "alone" => 3,
               "ends" => ["SIGSEGV"], "slots" => [0], "time" => Skep::OS.now }
    play({ **KEYED, threads: 1, max_messages: 10, on_poison: :pause },
         suspects: [poison]) do |batch, node|
      note(batch, node, 17)
    end

    assert_equal (0...20).to_a - [7, 12, 17], @seen.sort
    @seen.group_by { |n| n % 5 }.each_value { |some| assert_equal some.sort, some }
  end

  test "finds the failing key if the handler doesn't use each" do
    feed("orders", (0...64).map { |n| ["k#{n % 16}", n.to_s] })
    play({ **KEYED, threads: 1, retry_backoff: 0.001 }) do |batch, node|
      raise "never" if batch.payloads.include?("5")

      note(batch, node, 60)
    end

    assert_equal (0...64).reject { |n| n % 16 == 5 }, @seen.sort
  end

  test "dead-letters only the message that keeps failing" do
    feed("orders", (0...60).map { |n| ["k#{n % 6}", n.to_s] })
    events = play({ **KEYED, dead_letter_topic: "dead", max_attempts: 2 }) do |batch, node|
      raise ArgumentError, "can't read it" if batch.payloads.include?("20")

      note(batch, node, 59)
    end

    assert_equal [20], named(events, "dead_lettered").map { |facts| facts[:offset] }
    assert_equal (0...60).to_a - [20], @seen.sort
    @seen.group_by { |n| n % 6 }.each_value { |some| assert_equal some.sort, some }
    assert_equal 60, committed
  end

  test "reads at most max_out_of_order messages beyond an unfinished one, and reports the limit" do
    feed("orders", (0...200).map { |n| [n.zero? ? "bad" : "k#{n}", n.to_s] })
    on_event = lambda do |name, facts, node|
      @held = facts if name == "kafka_backpressure"
      node.stop! if @held && @lock.synchronize { @seen.size == 49 }
    end
    play({ **KEYED, max_out_of_order: 50, retry_backoff: 0.01, max_messages: 10 },
         on_event:) do |batch, _|
      batch.each do |message|
        raise "never" if message.key == "bad"

        batch.mark(message)
        @lock.synchronize { @seen << message.offset }
      end
    end

    assert_equal (1..49).to_a, @seen.sort
    assert_equal ["orders", 0], @held.values_at(:topic, :partition)
  end

  test "finishes what is in flight at a stop, and the next node continues there" do
    feed("orders", (0...200).map { |n| [n.even? ? nil : "k", n.to_s] })
    play({ **KEYED, max_messages: 8 }) do |batch, node|
      IO.select(nil, nil, nil, 0.02)
      note(batch, node, 40)
    end
    assert_operator (first = @seen.dup).size, :<, 200
    @seen.clear
    play({ **KEYED, max_messages: 8 }) do |batch, node|
      note(batch, node, 1_000)
      @lock.synchronize { node.stop! if (first | @seen).size == 200 }
    end

    assert_equal first.uniq, first
    assert_equal (0...200).to_a, (first | @seen).sort
    assert_equal (0...200).find { |n| !first.include?(n) }, @seen.min
    [first, @seen].each { |some| assert_equal some.select(&:odd?).sort, some.select(&:odd?) }
  end

  test "orders by the key that the ordered_by callable returns" do
    feed("orders", (0...100).map { |n| ["k", JSON.generate(user: n % 5, n:)] })
    ordered_by = ->(message) { JSON.parse(message.payload)["user"] }
    users = []
    play({ ordered_by:, threads: 2, max_messages: 20 }) do |batch, node|
      found = batch.map { |message| JSON.parse(message.payload) }
      @lock.synchronize { users << found.map { |one| one["user"] }.uniq.size }
      note(found.map { |one| one["n"] }, node, 100)
    end

    assert_equal (0...100).to_a, @seen.sort
    assert_operator users.max, :<, 5 # the threads share the work
  end

  test "retries a message for which the ordered_by callable raises" do
    feed("orders", ["{}", "no json", "{}"].map { |payload| ["k", payload] })
    ordered_by = ->(message) { JSON.parse(message.payload)["user"] }
    letter = nil
    on_event = ->(name, facts, node) { node.stop! if name == "dead_lettered" && letter = facts }
    play({ ordered_by:, dead_letter_topic: "dead", max_attempts: 2 }, on_event:) do |batch, node|
      note(batch.map(&:offset), node, 100)
    end

    assert_equal [0, 2], @seen.sort
    assert_equal 1, letter[:offset]
    assert_match(/\AJSON::ParserError/, letter[:error])
  end

  test "processes suspects one at a time while nothing else is in flight" do
    feed("orders", (0...100).map { |n| ["k#{n}", n.to_s] })
    busy = 0
    alone = {}
    suspect = { "in_flight" => "orders/0/40-50", "current_item" => nil, "crashes" => 1,
                "alone" => 0, "ends" => ["SIGSEGV"], "slots" => [0], "time" => Skep::OS.now }
    events = play({ **KEYED, max_messages: 20 }, suspects: [suspect]) do |batch, node|
      @lock.synchronize { busy += 1 }
      IO.select(nil, nil, nil, 0.001)
      @lock.synchronize do
        batch.each { |message| alone[message.offset] = [batch.size, busy] }
        busy -= 1
      end
      note(batch, node, 100)
    end

    assert_equal([[1, 1]] * 11, (40..50).map { |offset| alone[offset] })
    assert_equal [["orders/0/40-50", nil]],
                 named(events, "suspects_resolved").flat_map { |facts| facts["suspects"] }
  end

  test "yields no message from before a seek once the seek is done" do
    feed("orders", %w[a b c d].each_with_index.map { |key, n| [key, n.to_s] })
    play({ **KEYED, threads: 1, max_messages: 1 }) do |batch, node|
      @seen << batch.first_offset
      next batch.pause(0) if @seen.size < 3 # 1 is ready, behind its partition, when 0 is retried

      @seen.last == 3 ? node.stop! : batch.seek(3)
    end

    assert_equal [0, 1, 0, 3], @seen
  end

  test "seeks to the current position skip nothing while other keys fail" do
    feed("orders", (0...200).map { |n| ["k#{n % 20}", n.to_s] })
    sought, failed = {}, {}
    events = play({ **KEYED, max_messages: 5 }) do |batch, node|
      batch.each do |message|
        offset = message.offset
        raise "once" if offset % 7 == 3 && !failed[offset] && failed[offset] = true
        break batch.seek(offset) if offset % 17 == 5 && !sought[offset] && sought[offset] = true

        @lock.synchronize { @seen << offset }
      end
      @lock.synchronize { node.stop! if @seen.uniq.size == 200 }
    end

    assert_operator named(events, "kafka_seek").size, :>, 1
    assert_equal (0...200).to_a, @seen.uniq.sort
    @seen.group_by { |n| n % 20 }.each_value do |some| # a replay is in order, too
      assert_equal some.uniq.sort, some.uniq
    end
  end

  # A second node gets some of the partitions meanwhile, and gives them back at its stop.
  test "keeps the order of each key across rebalances" do
    Dir.mktmpdir do |directory|
      file = File.join(directory, "done")
      one = member(0, file)
      feed("events", some(0...200))
      one.await("processed")
      two = member(1, file)
      two.await("assigned") { |facts| facts["assigned"] }
      feed("events", some(200...900))
      two.await("processed")
      assert_predicate two.signal("TERM"), :success?
      one.await("processed") until done(file).uniq.size == 900
      assert_predicate one.signal("TERM"), :success?

      done(file).uniq.group_by { |n| n % 40 }.each_value { |some| assert_equal some.sort, some }
    end
  end

  private

  def some(numbers) = numbers.map { |n| ["#{n % 40}:#{n}", "v", n % 4] }

  def member(id, file)
    keyed = options(**KEYED, topics: "events", max_messages: 20, commit_interval: 0.1,
                             ordered_by: ->(message) { message.key[/\d+/] },
                             filter: ->(_) { IO.select(nil, nil, nil, 0.003) || true })
    KafkaCase::Member.new(self, keyed, id:, file:)
  end

  def done(file) = File.readlines(file).map { |line| line[/:(\d+)/, 1].to_i }

  # Records what is done, and stops the node after `all` messages.
  def note(batch, node, all)
    @lock.synchronize do
      @seen.concat(batch.map { |one| one.is_a?(Integer) ? one : one.payload.to_i })
      node.stop! if @seen.size >= all
    end
  end

  # Returns the offset that the group has committed, where its next member begins.
  def committed
    feed("orders", [%w[k next]])
    offset = nil
    play({ max_messages: 1 }) do |batch, node|
      offset ||= batch.first_offset
      node.stop!
    end
    offset
  end
end
