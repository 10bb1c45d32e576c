# frozen_string_literal: true

require "kafka/support/kafka_case"
require "tmpdir"

# Several nodes of a group, each a process, and the harm that comes to them.
class KafkaGroupTest < KafkaCase
  OFFSET_COMMIT = 8
  HEARTBEAT = 12
  UNKNOWN_MEMBER = 25
  FENCED = 82
  private_constant :OFFSET_COMMIT, :HEARTBEAT, :UNKNOWN_MEMBER, :FENCED

  test "shares the partitions, and loses no message when one node is killed" do
    Dir.mktmpdir do |directory|
      file = File.join(directory, "done")
      broker(orders: 8)
      one = member(0, file)
      one.await("joined") { |facts| facts["partitions"] == { "orders" => (0..7).to_a } }
      two = member(1, file)
      one.await("joined") { |facts| facts["partitions"].fetch("orders", []).size == 4 }
      two.await("joined") { |facts| facts["partitions"].fetch("orders", []).size == 4 }

      feed("orders", (0...2_000).map { |n| ["#{n}", "v", n % 8] })
      two.await("count")
      two.signal("KILL")
      feed("orders", (2_000...4_000).map { |n| ["#{n}", "v", n % 8] })
      one.await("joined") { |facts| facts["partitions"].fetch("orders", []).size == 8 }
      feed("orders", (4_000...4_008).map { |n| ["#{n}", "last", n % 8] })
      done = await_keys(one, file, 4_008)

      assert_equal (0...4_008).to_a, done.sort
      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "moves only what changes hands with cooperative-sticky, and works on meanwhile" do
    Dir.mktmpdir do |directory|
      file = File.join(directory, "done")
      broker(orders: 8)
      one = member(0, file, "partition.assignment.strategy" => "cooperative-sticky")
      one.await("joined") { |facts| facts["partitions"].fetch("orders", []).size == 8 }
      feed("orders", (0...4_000).map { |n| ["#{n}", "v", n % 8] })
      two = member(1, file, "partition.assignment.strategy" => "cooperative-sticky")
      revoked = one.await("kafka_rebalance") { |facts| facts["change"] == "revoked" }

      assert_equal [4, 4], revoked.values_at("partitions", "held").map { |all| all["orders"].size }
      two.await("joined") { |facts| facts["partitions"] == revoked["partitions"] }
      feed("orders", (4_000...4_008).map { |n| ["#{n}", "last", n % 8] })
      taken = revoked["partitions"]["orders"]
      two.await("count") until keys(file).count { |key| taken.include?(key % 8) } == 2_004
      assert_equal (0...4_008).to_a, await_keys(one, file, 4_008).sort
      assert_predicate two.signal("TERM"), :success?
      one.await("joined") { |facts| facts["partitions"].fetch("orders", []).size == 8 }
      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "says that another has its name, loses what it has, and goes on without one" do
    member_at_work("group.instance.id" => "us") do |one, file|
      @broker.fail_next(HEARTBEAT, FENCED)
      lost = one.await("kafka_rebalance") { |facts| facts["change"] == "lost" }
      taken = one.await("kafka_name_taken")

      assert_equal [{ "orders" => [0, 1] }, {}], lost.values_at("partitions", "held")
      assert_equal %w[readers us-0], taken.values_at("group", "name")
      assert_match(/instance\.id us-0 is in use by another member of group readers \(.*fenced/,
                   taken["error"])
      assert_match(/Check that no two hosts share a hostname/, taken["error"])
      one.await("joined") { |facts| facts["partitions"] == { "orders" => [0, 1] } }
      feed("orders", [["1", "v", 1]])
      assert_equal [0, 1], await_keys(one, file, 2).sort
      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "says that another has its name and ends, when it is stopping anyway" do
    member_at_work("group.instance.id" => "us") do |one, _|
      @broker.fail_next(OFFSET_COMMIT, *[FENCED] * 20)

      assert_predicate one.signal("TERM"), :success?
    end
  end

  test "commits what is done at TERM, so that nothing comes twice" do
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

  test "ends at TERM though the group doesn't know it any more" do
    member_at_work do |one, _|
      @broker.fail_next(OFFSET_COMMIT, *[UNKNOWN_MEMBER] * 20)

      assert_predicate one.signal("TERM"), :success?
      assert_equal "UNKNOWN_MEMBER_ID", one.await("kafka_commit_failed")["code"]
      error = assert_raises(RuntimeError) { one.await("kafka_rebalance") }
      assert_match(/EOFError/, error.message, "it took its leave, which may never end")
    end
  end

  test "leaves before it is killed for a handler that doesn't end" do
    broker(orders: 1)
    feed("orders", [%w[k v]])
    gone, teller = IO.pipe
    told = lambda do |name, facts, _|
      teller.write("!") if name == "kafka_rebalance" && facts[:change] == "revoked"
    end
    events = play(told:) do |_, child|
      child.time_left = 0
      child.stop!
      wait_readable(gone)
    end

    assert_equal %w[kafka_farewell kafka_revoked_in_hand],
                 events.map(&:first) & %w[kafka_farewell kafka_revoked_in_hand]
    assert_equal %w[v], again
  ensure
    [gone, teller].each(&:close)
  end

  test "tells once that the broker is gone and once that it is back, and goes on" do
    member_at_work do |one, file|
      @broker.down!
      assert_equal @broker.bootstrap_servers, one.await("kafka_lost")["brokers"]
      @broker.up!
      assert_operator one.await("kafka_back")["seconds"], :>, 0
      feed("orders", [["1", "v", 1]])

      assert_equal [0, 1], await_keys(one, file, 2).sort
      assert_predicate one.signal("TERM"), :success?
    end
  end

  private

  def member(id, file, settings = {})
    KafkaCase::Member.new(self, options(kafka: { **@broker.settings, **settings }), id:, file:)
  end

  # One that has two partitions and has done its first message.
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

  # Waits until so many different keys have been done.
  def await_keys(member, file, count)
    member.await("count") until (seen = keys(file)).size >= count
    seen
  end

  def keys(file)
    return [] unless File.exist?(file)

    File.readlines(file, chomp: true).map { |line| line.split.last.to_i }.uniq
  end
end
