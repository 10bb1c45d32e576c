# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Where a partition begins that comes back to a process which has had it before.
    class TrailsTest < ::KafkaCase
      KEY = ["orders", 3].freeze
      JOIN_GROUP = 11
      FENCED = 82
      Cluster = Struct.new(:accepted, :offsets) do
        def committed(keys, _) = offsets&.slice(*keys)
      end
      Hands = Struct.new(:busy) do
        def leftover(keys) = busy & keys
      end
      private_constant :KEY, :JOIN_GROUP, :FENCED, :Cluster, :Hands

      test "goes on behind what was done here, and tells how much that spares" do
        assert_equal({ KEY => 200 }, starts(done: 200, accepted: 100, committed: 100))
        assert_equal [[:kafka_resumed, { partitions: { "orders" => [3] }, messages: 100 }]], @told
      end

      test "goes on behind what somebody else has done meanwhile" do
        assert_equal({ KEY => 300 }, starts(done: 200, accepted: 100, committed: 300))
        assert_empty @told
      end

      test "goes on behind its own where somebody else has done a part of it" do
        assert_equal({ KEY => 200 }, starts(done: 200, accepted: 100, committed: 150))
      end

      test "obeys who sets it back below what others had done by then" do
        starts(done: 200, accepted: 100, committed: 150)
        @cluster.offsets = { KEY => 120 }
        assert_empty @trails.starts([KEY])
        @trails[KEY].position = 140
        assert_equal({ KEY => 140 }, @trails.starts([KEY]))
      end

      test "goes on behind its own where nobody has ever committed anything" do
        assert_equal({ KEY => 200 }, starts(done: 200, accepted: nil, committed: nil))
      end

      test "begins where the group was set back to" do
        assert_empty starts(done: 200, accepted: 100, committed: 50)
        assert_empty starts(done: 200, accepted: 100, committed: nil)
        assert_nil @trails[KEY].position
      end

      test "begins at what is committed where that was all, or nobody answers" do
        assert_empty starts(done: 200, accepted: 200, committed: 500)
        assert_empty starts(done: 200, accepted: 100, answer: false)
      end

      test "begins at what is committed where transactions commit it" do
        assert_empty starts(done: 200, accepted: nil, committed: 100, transactional: true)
      end

      test "follows the trail of what is still in hand" do
        assert_equal({ KEY => 100 }, starts(done: 100, accepted: 100, committed: 100, busy: [KEY]))
        assert_same @before, @trails[KEY]
      end

      test "does nothing twice when its session ends while no broker is there" do
        events = play_and_lose(batch: 10)

        assert_equal [{ "orders" => [0] }],
                     named(events, "kafka_resumed").map { |facts| facts[:partitions] }.uniq
        assert_empty again
      end

      test "joins once more by its name where the group takes it for two, and does nothing twice" do
        @fence = true
        events = play_and_lose(kafka: { "group.instance.id" => "us" })

        assert_equal(%w[us-0], named(events, "kafka_fenced_itself").map { |facts| facts[:name] })
        assert_empty named(events, "kafka_name_taken")
      end

      test "doesn't do again what was in hand when its session ended, once that is done" do
        broker(orders: 1)
        feed("orders", (0...6).map { |n| ["k", n.to_s] })
        back, @back = IO.pipe
        seen = []
        events = play({ **quick, batch: 3, max_wait: 60 }, told: method(:lose)) do |batch, child|
          seen << batch.payloads
          next child.stop! if seen.size > 1

          @broker.down!
          wait_readable(back)
        end

        assert_equal [%w[0 1 2], %w[3 4 5]], seen
        assert_equal [3], named(events, "kafka_seek").map { |facts| facts[:offset] }
      ensure
        [back, @back].each(&:close)
      end

      private

      # What they would be for a partition that was done so far when it went.
      def starts(done:, accepted:, committed: nil, answer: true, busy: [], transactional: false)
        @told = []
        @cluster = Cluster.new({}, {})
        @trails = trails(@cluster, Hands.new([]), transactional)
        @trails.starts([KEY])
        (@before = @trails[KEY]).position = done
        @cluster.accepted.update({ KEY => accepted }.compact)
        @cluster.offsets = answer ? { KEY => committed }.compact : nil
        @hands.busy = busy
        @trails.starts([KEY])
      end

      def trails(consumer, desk, transactional)
        @hands = desk
        report = Object.new
        told = @told
        report.define_singleton_method(:tell) { |name, **facts| told << [name, facts] }
        options = Options.new(transactional:)
        Trails.new(Tools.new(consumer:, desk:, report:, options:, past: Trails.past))
      end

      # Its partitions are lost when a hundred messages are done; each is done once. The events.
      def play_and_lose(kafka: {}, batch: 500)
        broker(orders: 1)
        feed("orders", [*"0".."99"].map { |text| ["k", text] })
        seen = []
        more = { **quick(kafka), commit_every: 600, batch: }
        events = play(more, told: method(:lose)) do |some, child|
          seen.concat(some.payloads)
          @broker.down! if seen.size == 100
          child.stop! if seen.include?("last")
        end
        events.tap { assert_equal [*"0".."99", "last"], seen }
      end

      # A session that ends soon, and not because the machine is busy.
      def quick(kafka = {})
        { kafka: @broker.settings.merge("session.timeout.ms" => 1_500,
                                        "reconnect.backoff.max.ms" => 100, **kafka) }
      end

      # No broker until the partitions are lost; then there is one, and once they are back more.
      def lose(name, facts, _child)
        return unless name == "kafka_rebalance"

        @broker.fail_next(JOIN_GROUP, FENCED) if facts[:change] == "lost" && @fence
        @broker.up! if facts[:change] == "lost"
        came_back if facts[:change] == "assigned" && (@times = @times.to_i + 1) == 2
      end

      def came_back = @back ? @back.write("!") : feed("orders", [["k", "last"]])
    end
  end
end
