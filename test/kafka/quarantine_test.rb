# frozen_string_literal: true

require "kafka/support/kafka_case"

# What a source does with messages that nodes had in hand when they crashed.
class KafkaQuarantineTest < KafkaCase
  test "gives suspects out one at a time, the others together, and acquits them once done" do
    broker(orders: 1)
    feed("orders", (0...10).map { |n| ["k", n.to_s] })
    sizes = []
    events = play(suspects: [suspect("orders/0/2-4", at: 3)]) do |batch, child|
      sizes << [batch.first_offset, batch.last_offset]
      child.stop! if batch.last_offset == 9
    end

    assert_equal [[0, 1], [2, 2], [3, 3], [4, 4], [5, 9]], sizes
    assert_equal [["orders/0/2-4", 3]], named(events, "judged").flat_map { |said| said["suspects"] }
    assert_equal [[0, 9]], named(events, "message_suspected").map { |facts|
      facts.values_at(:offset, :last_offset)
    }
  end

  test "puts the guilty one into the dead letter topic, untried, and goes on" do
    broker(orders: 1, dead: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    done = []
    events = play({ dead_letter: "dead" }, suspects: guilty) do |batch, child|
      done.concat(batch.payloads)
      child.stop! if done.include?("c")
    end

    assert_equal %w[a c], done
    assert_equal [true, false, false], named(events, "judged").map { |said| said["guilty"] }
    convicted, = named(events, "message_convicted")
    assert_equal [1, 3, :dead_letter], convicted.values_at(:offset, :crashes, :verdict)
    assert_equal 1, named(events, "dead_lettered").size
    assert_equal({ "skep.topic" => "orders", "skep.partition" => "0", "skep.offset" => "1",
                   "skep.attempts" => "3", "skep.crashes" => "3",
                   "skep.error" => "Skep::Kafka::CrashedNode: its node crashed 3 times while " \
                                   "processing only this message " \
                                   "(SIGSEGV; SIGKILL, hung; SIGKILL, oom)",
                   "skep.host" => Socket.gethostname }, letter.headers)
  end

  test "lets its partition rest where that is wanted, once told, and keeps the others going" do
    broker(orders: 2)
    feed("orders", %w[a bad c].map { |payload| [payload, payload, 0] })
    feed("orders", [["d", "d", 1]])
    done = []
    events = play(suspects: guilty) do |batch, _|
      done.concat(batch.payloads)
      feed("orders", [["e", "e", 0], ["f", "f", 1]]) if done.sort == %w[a d]
      @child.stop! if done.include?("f")
    end

    assert_equal %w[a d f], done.sort
    assert_equal [:pause], (named(events, "message_convicted").map { |facts| facts[:verdict] })
    assert_equal ([true]), (named(events, "judged").map { |said| said["guilty"] })
  end

  test "skips it where that is wanted" do
    broker(orders: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    done = []
    events = play({ poison: :skip }, suspects: guilty) do |batch, child|
      done.concat(batch.payloads)
      child.stop! if done.include?("c")
    end

    assert_equal %w[a c], done
    assert_equal [:skip], (named(events, "message_convicted").map { |facts| facts[:verdict] })
  end

  test "has a suspect at work alone" do
    broker(orders: 3)
    feed("orders", (0...300).map { |n| ["k", n.to_s, n % 3] })
    lock = Mutex.new
    busy = done = 0
    alone = {}
    play({ threads: 3, batch: 5 }, suspects: [suspect("orders/1/40-42")]) do |batch, child|
      suspected = batch.partition == 1 && batch.first_offset.between?(40, 42)
      lock.synchronize { alone[batch.first_offset] = batch.size if suspected && busy.zero? }
      lock.synchronize { busy += 1 }
      IO.select(nil, nil, nil, 0.001)
      lock.synchronize do
        alone.delete(batch.first_offset) if suspected && busy > 1
        busy -= 1
        child.stop! if (done += batch.size) == 300
      end
    end

    assert_equal({ 40 => 1, 41 => 1, 42 => 1 }, alone)
  end

  test "leaves told what was in hand when an exception ends it, and begins nothing more" do
    broker(orders: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    [1, 2].each do |threads|
      seen = []
      events = []
      note = ->(name, facts, _) { events << facts if name == "in_hand" }
      assert_raises(NoMemoryError) do
        play({ threads:, batch: 1 }, told: note) do |batch, _|
          seen << batch.payloads
          raise NoMemoryError if batch.payloads == ["bad"]
        end
      end

      assert_equal ["bad"], seen.last
      assert_match %r{\Aorders/0/1-1\z}, events.last[:text]
    end
  end

  test "leaves told what was in hand when an exception ends it as it is asked for a key" do
    broker(orders: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    ordered_by = ->(message) { message.key == "bad" ? raise(NoMemoryError) : message.key }
    [1, 2].each do |threads|
      events = []
      note = ->(name, facts, _) { events << facts if name == "in_hand" }
      assert_raises(NoMemoryError) { play({ threads:, ordered_by: }, told: note) { flunk } }

      assert_equal ["orders/0/0-2", 1], [events.last[:text], @child.given_out]
    end
  end

  test "isn't asked for a guilty one's key, and for a suspect's with that alone in hand" do
    broker(orders: 1, dead: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    asked = []
    done = []
    ordered_by = ->(message) { asked << message.key && message.key }
    events = play({ ordered_by:, dead_letter: "dead" }, suspects: guilty) do |batch, child|
      done.concat(batch.payloads)
      child.stop! if done.sort == %w[a c]
    end

    assert_equal %w[a c], asked
    assert_equal(%w[bad], named(events, "dead_lettered").map { letter.payload })
    assert_equal %w[orders/0/0-0 orders/0/2-2],
                 named(events, "in_hand").filter_map { |facts| facts[:text] }.first(2)
  end

  private

  def guilty
    [suspect("orders/0/0-2", alone: 0),
     suspect("orders/0/1-1", at: 1, alone: 3, ends: ["SIGSEGV", "SIGKILL, hung", "SIGKILL, oom"])]
  end

  # As the supervisor tells it.
  def suspect(in_hand, at: nil, alone: 1, ends: ["SIGSEGV"])
    { "in_hand" => in_hand, "at" => at, "crashes" => alone, "alone" => alone, "ends" => ends,
      "slots" => [0], "time" => Skep::OS.now }
  end

  def letter
    found = nil
    play({ topics: "dead", group: "undertaker" }) do |batch, child|
      found = batch.messages.first
      child.stop!
    end
    found
  end
end
