# frozen_string_literal: true

require "kafka/support/kafka_case"

# What a source does with messages that were in flight in nodes that crashed.
class KafkaQuarantineTest < KafkaCase
  test "processes a suspect alone, others in batches, and clears the suspect when done" do
    broker(orders: 1)
    feed("orders", (0...10).map { |n| ["k", n.to_s] })
    sizes = []
    events = play(suspects: [suspect("orders/0/2-4", at: 3)]) do |batch, node|
      sizes << [batch.first_offset, batch.last_offset]
      node.stop! if batch.last_offset == 9
    end

    assert_equal [[0, 2], [3, 3], [4, 9]], sizes
    assert_equal [["orders/0/2-4", 3]], named(events, "suspects_resolved").flat_map { |facts|
      facts["suspects"]
    }
    assert_equal [[0, 9]], named(events, "message_isolated").map { |facts|
      facts.values_at(:offset, :last_offset)
    }
  end

  test "dead-letters a poison message without another try, and continues" do
    broker(orders: 1, dead: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    done = []
    events = play({ dead_letter_topic: "dead" }, suspects: poison) do |batch, node|
      done.concat(batch.payloads)
      node.stop! if done.include?("c")
    end

    assert_equal %w[a c], done
    assert_equal [true, false, false], named(events, "suspects_resolved").map { |facts|
      facts["blamed"]
    }
    quarantined, = named(events, "message_quarantined")
    assert_equal [1, 3, :dead_letter], quarantined.values_at(:offset, :crashes, :verdict)
    assert_equal 1, named(events, "dead_lettered").size
    assert_equal({ "skep.topic" => "orders", "skep.partition" => "0", "skep.offset" => "1",
                   "skep.attempts" => "3", "skep.crashes" => "3",
                   "skep.error" => "Skep::Kafka::CrashedNode: The node crashed 3 times while " \
                                   "it processed only this message " \
                                   "(SIGSEGV; SIGKILL, hung; SIGKILL, oom)",
                   "skep.host" => Socket.gethostname, "skep.revision" => "4f0c1e2" },
                 letter.headers)
  end

  test "the error counts crashes near the message apart from those that prove it" do
    one = { crashes: 3, ends: ["SIGSEGV"] }
    prefix = "The node crashed 3 times while it processed only this message"
    assert_equal "#{prefix} (SIGSEGV)", Skep::Kafka::CrashedNode.new(**one, total: 3).message
    assert_equal "#{prefix}, 4 times in all (SIGSEGV)",
                 Skep::Kafka::CrashedNode.new(**one, total: 4).message
  end

  test "a skipped poison message is reported, though it had raised in another node before" do
    broker(orders: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    stop = ->(name, _, node) { node.stop! if name == "handler_failed" }
    play({ max_messages: 1, retry_backoff: 20 }, on_event: stop) do |batch, _|
      raise "sometimes" if batch.payloads == ["bad"]
    end
    done = []
    events = play({ on_poison: :skip }, suspects: poison) do |batch, node|
      done.concat(batch.payloads)
      node.stop! if done.include?("c")
    end

    assert_equal %w[c], done
    assert_equal([:skip], named(events, "message_quarantined").map { |facts| facts[:verdict] })
  end

  test "on_poison: :pause pauses only the partition of the poison message, and reports it once" do
    broker(orders: 2)
    feed("orders", %w[a bad c].map { |payload| [payload, payload, 0] })
    feed("orders", [["d", "d", 1]])
    done = []
    events = play(suspects: poison) do |batch, _|
      done.concat(batch.payloads)
      feed("orders", [["e", "e", 0], ["f", "f", 1]]) if done.sort == %w[a d]
      @node.stop! if done.include?("f")
    end

    assert_equal %w[a d f], done.sort
    assert_equal [:pause], (named(events, "message_quarantined").map { |facts| facts[:verdict] })
    assert_equal ([true]), (named(events, "suspects_resolved").map { |facts| facts["blamed"] })
  end

  test "on_poison: :skip continues without the poison message" do
    broker(orders: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    done = []
    events = play({ on_poison: :skip }, suspects: poison) do |batch, node|
      done.concat(batch.payloads)
      node.stop! if done.include?("c")
    end

    assert_equal %w[a c], done
    assert_equal [:skip], (named(events, "message_quarantined").map { |facts| facts[:verdict] })
  end

  test "processes a suspect while nothing else is in flight in the node" do
    broker(orders: 3)
    feed("orders", (0...300).map { |n| ["k", n.to_s, n % 3] })
    lock = Mutex.new
    busy = done = 0
    alone = {}
    play({ threads: 3, max_messages: 5 }, suspects: [suspect("orders/1/40-42")]) do |batch, node|
      suspected = batch.partition == 1 && batch.first_offset.between?(40, 42)
      lock.synchronize { alone[batch.first_offset] = batch.size if suspected && busy.zero? }
      lock.synchronize { busy += 1 }
      IO.select(nil, nil, nil, 0.001)
      lock.synchronize do
        alone.delete(batch.first_offset) if suspected && busy > 1
        busy -= 1
        node.stop! if (done += batch.size) == 300
      end
    end

    assert_equal({ 40 => 1, 41 => 1, 42 => 1 }, alone)
  end

  # Otherwise nothing would be done before the node hangs again, and no hang would count.
  test "what is no suspect goes before messages at which nodes hung" do
    broker(orders: 6)
    feed("orders", (0...6).map { |n| ["k", n.to_s, n] })
    order = []
    suspects = [0, 1, 2, 4, 5].map { |n| suspect("orders/#{n}/0-0", ends: ["SIGKILL, hung"]) }
    play({ threads: 1 }, suspects:) do |batch, node|
      order.concat(batch.payloads)
      node.stop! if order.size == 6
    end

    assert_equal "3", order.first
    assert_equal %w[0 1 2 3 4 5], order.sort
  end

  test "keeps the in-flight report after a fatal exception, and starts nothing else" do
    broker(orders: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    [1, 2].each do |threads|
      seen = []
      events = []
      note = ->(name, facts, _) { events << facts if name == "in_flight" }
      assert_raises(NoMemoryError) do
        play({ threads:, max_messages: 1 }, on_event: note) do |batch, _|
          seen << batch.payloads
          raise NoMemoryError if batch.payloads == ["bad"]
        end
      end

      assert_equal ["bad"], seen.last
      assert_match %r{\Aorders/0/1-1\z}, events.last[:text]
    end
  end

  test "keeps the in-flight report after a fatal exception of the key callable" do
    broker(orders: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    ordered_by = ->(message) { message.key == "bad" ? raise(NoMemoryError) : message.key }
    [1, 2].each do |threads|
      events = []
      note = ->(name, facts, _) { events << facts if name == "in_flight" }
      assert_raises(NoMemoryError) { play({ threads:, ordered_by: }, on_event: note) { flunk } }

      assert_equal ["orders/0/0-2", 1], [events.last[:text], @node.last_item]
    end
  end

  test "the key callable never gets a poison message, and gets a suspect alone" do
    broker(orders: 1, dead: 1)
    feed("orders", %w[a bad c].map { |payload| [payload, payload] })
    called_with = []
    done = []
    ordered_by = ->(message) { called_with << message.key && message.key }
    events = play({ ordered_by:, dead_letter_topic: "dead" }, suspects: poison) do |batch, node|
      done.concat(batch.payloads)
      node.stop! if done.sort == %w[a c]
    end

    assert_equal %w[a c], called_with
    assert_equal(%w[bad], named(events, "dead_lettered").map { letter.payload })
    assert_equal %w[orders/0/0-0 orders/0/2-2],
                 named(events, "in_flight").filter_map { |facts| facts[:text] }.first(2)
  end

  private

  def poison
    [suspect("orders/0/0-2", alone: 0),
     suspect("orders/0/1-1", at: 1, alone: 3, ends: ["SIGSEGV", "SIGKILL, hung", "SIGKILL, oom"])]
  end

  # A suspect, as the supervisor reports it.
  def suspect(in_flight, at: nil, alone: 1, ends: ["SIGSEGV"])
    { "in_flight" => in_flight, "current_item" => at, "crashes" => alone, "alone" => alone,
      "ends" => ends, "slots" => [0], "time" => Skep::OS.now }
  end

  def letter
    found = nil
    play({ topics: "dead", group: "letters" }) do |batch, node|
      found = batch.messages.first
      node.stop!
    end
    found
  end
end
