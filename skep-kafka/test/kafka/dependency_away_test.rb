# frozen_string_literal: true

require "kafka/support/kafka_case"
require "skep/kafka/testing"

# While a dependency of the handler is unavailable, one work item of a partition at a time is tried.
# As soon as that succeeds, the others are tried.
class KafkaDependencyAwayTest < KafkaCase
  AWAY = 30.0
  KEYS = 200
  HANDLERS = {
    "each" => ->(batch, &block) { batch.each { |message| block.call([message]) } },
    "payloads" => ->(batch, &block) { block.call(batch.messages) }
  }.freeze
  private_constant :AWAY, :KEYS, :HANDLERS

  # One worker on a clock that moves to the next deadline when there is nothing to do.
  class Simulation < Skep::Kafka::Testing::TestRun
    attr_accessor :now

    def run
      @now = 0.0
      Skep::OS.stub(:now, -> { @now }) { super }
    end

    private

    def step
      deadline = @scheduler.next_deadline if @scheduler.instance_variable_get(:@ready).empty?
      @now = [@now, deadline].max if deadline
      super
    end
  end

  HANDLERS.each do |name, handler|
    test "by key, #{name}: few tries fail in an outage, and all messages are done soon after" do
      done = simulate(KEYS) { |batch| handler.call(batch) { |messages| depend(messages) } }

      assert_equal KEYS, done.size
      assert_operator done.values.max - AWAY, :<=, 2
      assert_operator pauses.max, :<=, 1.6
      # In the first 1.5 s each key is tried at most four times. After that each key's backoff
      # doubles, and one key is tried every 1.5 s.
      assert_operator @tries.size, :<=, 10 * KEYS
      late = @tries.count { |time| time > AWAY / 2 }
      assert_operator late, :<=, 2 * KEYS
      check_outage
    end
  end

  test "a key that fails on its own delays no other key after an outage" do
    [1, 3].each do |others|
      done = simulate(others + 1) do |batch|
        batch.each do |message|
          @tries << now
          raise ArgumentError, "bad" if message.key == "k0"

          depend([message], tries: false)
        end
      end

      assert_equal others, done.size
      # The keys are tried in turn, one every 1.5 s.
      assert_operator done.values.max - AWAY, :<=, 1.6 * (others + 1)
    end
  end

  test "a bad message among slow ones is retried within its backoffs" do
    bad = []
    simulate(40) do |batch|
      batch.each do |message|
        bad << now if message.key == "k3"
        raise ArgumentError, "bad" if message.key == "k3"

        @simulation.now += 2
        @done[message.key] = now
      end
    end
    waits = bad.each_cons(2).map { |one, two| two - one }

    backoffs = @outcome.retried.select { |one| one[:offset] == 3 }.map { |one| one[:retry_in] }
    early = waits.zip(backoffs).count { |wait, backoff| wait < backoff - 0.01 }
    assert_operator early, :<=, 1
    assert_operator backoffs.max, :>, 10
  end

  test "a success doesn't end a pause that the handler asked for" do
    tries = []
    simulate(20) do |batch|
      batch.each do |message|
        if message.key == "k0" && now < AWAY + 60
          tries << now
          break batch.pause(60)
        end

        depend([message])
      end
    end

    assert_operator tries.each_cons(2).map { |one, two| two - one }.min, :>=, 59.9
  end

  test "with several threads, all messages are done once the dependency is back" do
    broker(orders: 1)
    feed("orders", (0...KEYS).map { |n| ["k#{n}", n.to_s] })
    lock, done, failed, back = Mutex.new, [], 0, nil
    on_event = lambda do |name, facts, _|
      lock.synchronize do
        failed += 1 if name == "handler_failed"
        back ||= failed if facts[:retry_in].to_f > 2 # an item backs off until others succeed
      end
    end
    play({ ordered_by: :key, threads: 4, retry_backoff: 0.1 }, on_event:) do |batch, node|
      batch.each do |message|
        raise IOError, "away" unless back

        lock.synchronize { (done << message.payload.to_i).size == KEYS && node.stop! }
      end
    end

    assert_equal (0...KEYS).to_a, done.sort
    assert_operator failed, :<, 10 * KEYS
  end

  test "with several threads, keys that each fail once wait for the first backoff only" do
    broker(orders: 1)
    feed("orders", (0...30).map { |n| ["k#{n}", n.to_s] })
    lock, tries, done = Mutex.new, Hash.new(0), 0
    events = play({ ordered_by: :key, threads: 4 }) do |batch, node|
      batch.each do |message|
        raise "first" if lock.synchronize { tries[message.key] += 1 } == 1

        lock.synchronize { (done += 1) == 30 && node.stop! }
      end
    end

    failed = named(events, "handler_failed")
    assert_equal [1] * 30, failed.map { |facts| facts[:attempt] }
    assert_operator failed.map { |facts| facts[:retry_in] }.max, :<=, 0.012
    assert_equal [2] * 30, tries.values
  end

  private

  def now = @simulation.now

  # Processes messages of so many keys for 200 s of fake time. Returns when each was done.
  def simulate(count)
    @tries, @done = [], {}
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                     topics: "t", ordered_by: :key, threads: 4)
    messages = Array.new(count) { |n| { key: "k#{n}", payload: n.to_s } }
    handler = lambda do |batch, node|
      @simulation.now += 0.001
      node.stop! if now > 200
      yield batch
    end
    @simulation = Simulation.new(source, messages, node: Skep::Kafka::Testing::FakeNode.new,
                                                   retries: 10_000, handler:)
    @outcome = @simulation.run
    @done
  end

  def depend(messages, tries: true)
    @tries << now if tries && now < AWAY
    raise IOError, "away" if now < AWAY

    messages.each { |message| @done[message.key] = now }
  end

  # One outage is reported, and the count of messages that had a part in it.
  def check_outage
    away, back = %i[kafka_dependency_away kafka_dependency_back].map do |name|
      @outcome.node.events_named(name)
    end
    assert_equal [1, 1], [away.size, back.size]
    assert_equal ["t", :dependency, "IOError: away"], away.first.values_at(:topic, :cause, :error)
    assert_includes 1..KEYS, back.first[:messages]
    assert_in_delta AWAY, back.first[:duration], 2
    refute @outcome.node.work[:partitions].first.key?("failing")
  end

  # Returns the seconds between tries in the outage.
  def pauses = @tries.each_cons(2).map { |one, two| two - one }
end
