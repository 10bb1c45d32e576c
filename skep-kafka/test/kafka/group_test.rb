# frozen_string_literal: true

require "kafka/support/kafka_case"
require "tmpdir"

# Nodes of a group, each a process, under kills, rebalances, fencing and outages.
class KafkaGroupTest < KafkaCase
  OFFSET_COMMIT = 8
  HEARTBEAT = 12
  UNKNOWN_MEMBER = 25
  FENCED = 82
  private_constant :OFFSET_COMMIT, :HEARTBEAT, :UNKNOWN_MEMBER, :FENCED

  test "nodes share the partitions, and a killed node loses no message" do
    Dir.mktmpdir do |directory|
      file = File.join(directory, "done")
      broker(orders: 8)
      one = member(0, file)
      one.await("assigned") { |facts| facts["partitions"] == { "orders" => (0..7).to_a } }
      two = member(1, file)
      one.await("assigned") { |facts| facts["partitions"].fetch("orders", []).size == 4 }
      two.await("assigned") { |facts| facts["partitions"].fetch("orders", []).size == 4 }

      feed("orders", (0...2_000).map { |n| ["#{n}", "v", n % 8] })
      two.await("processed")
      two.signal("KILL")
      feed("orders", (2_000...4_000).map { |n| ["#{n}", "v", n % 8] })
      one.await("assigned") { |facts| facts["partitions"].fetch("orders", []).size == 8 }
      feed("orders", (4_000...4_008).map { |n| ["#{n}", "last", n % 8] })
      done = await_keys(one, file, 4_008)

      assert_equal (0...4_008).to_a, done.sort
      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "with cooperative-sticky only moved partitions stop during a rebalance" do
    Dir.mktmpdir do |directory|
      file = File.join(directory, "done")
      broker(orders: 8)
      one = member(0, file, "partition.assignment.strategy" => "cooperative-sticky")
      one.await("assigned") { |facts| facts["partitions"].fetch("orders", []).size == 8 }
      feed("orders", (0...4_000).map { |n| ["#{n}", "v", n % 8] })
      two = member(1, file, "partition.assignment.strategy" => "cooperative-sticky")
      revoked = one.await("kafka_rebalance") { |facts| facts["change"] == "revoked" }

      assert_equal [4, 4], revoked.values_at("partitions", "held").map { |all| all["orders"].size }
      two.await("assigned") { |facts| facts["partitions"] == revoked["partitions"] }
      feed("orders", (4_000...4_008).map { |n| ["#{n}", "last", n % 8] })
      moved = revoked["partitions"]["orders"]
      two.await("processed") until keys(file).count { |key| moved.include?(key % 8) } == 2_004
      assert_equal (0...4_008).to_a, await_keys(one, file, 4_008).sort
      assert_predicate two.signal("TERM"), :success?
      one.await("assigned") { |facts| facts["partitions"].fetch("orders", []).size == 8 }
      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "reports that its instance id is taken, and continues as a dynamic member" do
    member_at_work("group.instance.id" => "us") do |one, file|
      @broker.fail_next(HEARTBEAT, FENCED)
      lost = one.await("kafka_rebalance") { |facts| facts["change"] == "lost" }
      taken = one.await("kafka_instance_id_taken")

      assert_equal [{ "orders" => [0, 1] }, {}], lost.values_at("partitions", "held")
      assert_equal %w[readers us-0], taken.values_at("group", "name")
      assert_match(/Group readers: static member id us-0 is already used by another .*fenced/,
                   taken["error"])
      assert_match(/Set group\.instance\.id per host/, taken["error"])
      one.await("assigned") { |facts| facts["partitions"] == { "orders" => [0, 1] } }
      feed("orders", [["1", "v", 1]])
      assert_equal [0, 1], await_keys(one, file, 2).sort
      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "ends at TERM if its instance id is taken" do
    member_at_work("group.instance.id" => "us") do |one, _|
      @broker.fail_next(OFFSET_COMMIT, *[FENCED] * 20)

      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "commits processed messages at TERM, so that none is redelivered" do
    Dir.mktmpdir do |directory|
      file = File.join(directory, "done")
      broker(orders: 4)
      feed("orders", (0...500).map { |n| ["#{n}", "v", n % 4] })
      [0, 1].each do |id|
        first = member(id, file)
        await_keys(first, file, (id + 1) * 500)
        assert_predicate first.signal("TERM"), :success?
        feed("orders", (500...1_000).map { |n| ["#{n}", "v", n % 4] }) if id.zero?
      end

      assert_equal 1_000, File.readlines(file).size
    end
  end

  test "ends at TERM after the group has removed it" do
    member_at_work do |one, _|
      @broker.fail_next(OFFSET_COMMIT, *[UNKNOWN_MEMBER] * 20)

      assert_predicate one.signal("TERM"), :success?
      assert_equal "UNKNOWN_MEMBER_ID", one.await("kafka_commit_failed")["code"]
      error = assert_raises(RuntimeError) { one.await("kafka_rebalance") }
      assert_match(/EOFError/, error.message, "the node left the group, which may block forever")
    end
  end

  test "leaves the group shortly before it is killed for a handler that doesn't return" do
    broker(orders: 1)
    feed("orders", [%w[k v]])
    gone, writer = IO.pipe
    on_event = lambda do |name, facts, _|
      writer.write("!") if name == "kafka_rebalance" && facts[:change] == "revoked"
    end
    events = play(on_event:) do |_, node|
      node.time_left = 0
      node.stop!
      wait_readable(gone)
    end

    assert_equal %w[kafka_left_group kafka_revoked_in_flight],
                 events.map(&:first) & %w[kafka_left_group kafka_revoked_in_flight]
    assert_equal %w[v], redelivered
  ensure
    [gone, writer].each(&:close)
  end

  test "reports an outage and its end once each, and continues" do
    member_at_work do |one, file|
      @broker.down!
      assert_equal @broker.bootstrap_servers, one.await("kafka_disconnected")["brokers"]
      @broker.up!
      assert_operator one.await("kafka_reconnected")["duration"], :>, 0
      feed("orders", [["1", "v", 1]])

      assert_equal [0, 1], await_keys(one, file, 2).sort
      assert_predicate one.signal("TERM"), :success?
    end
  end

  private

  def member(id, file, settings = {})
    KafkaCase::Member.new(self, options(kafka: { **@broker.settings, **settings }), id:, file:)
  end

  # Yields a member that has two partitions and has processed its first message.
  def member_at_work(settings = {})
    Dir.mktmpdir do |directory|
      file = File.join(directory, "done")
      broker(orders: 2)
      one = member(0, file, settings)
      feed("orders", [["0", "v", 0]])
      await_keys(one, file, 1)
      yield one, file
    end
  end

  # Waits until messages of so many keys are processed. Returns the keys.
  def await_keys(member, file, count)
    member.await("processed") until (seen = keys(file)).size >= count
    seen
  end

  def keys(file)
    return [] unless File.exist?(file)

    File.readlines(file, chomp: true).map { |line| line.split.last.to_i }.uniq
  end
end
