# frozen_string_literal: true

require "test_helper"
require "skep"
require "skep/kafka"
require "skep/kafka/testing"

module Skep
  module Kafka
    # A member that comes back, and where it begins.
    class MemberProgressTest < Skep::TestCase
      KEY = ["orders", 0].freeze
      NOT_MEMBER = 25 # UNKNOWN_MEMBER_ID
      MemberProgress = Consumer::MemberProgress
      private_constant :KEY, :NOT_MEMBER, :MemberProgress

      # What the group and the partitions have.
      class FakeConsumer
        attr_accessor :generation, :code, :low, :high
        attr_reader :commits

        def initialize
          @generation, @code, @low, @high = 3, 0, 0, 1_000
          @commits = []
        end

        def static_member? = true
        def identity = %w[billing host-0]
        def beginnings(keys, _seconds) = keys.to_h { |key| [key, low] }
        def ends(keys, _seconds) = keys.to_h { |key| [key, high] }

        def commit(entries, _seconds)
          @commits << entries
          code
        end
      end

      # Knows the topics' ids.
      class FakeTopics
        attr_accessor :id

        def initialize = @id = "first"
        def origin(_topic) = id && Processing::OffsetOrigin.new("cluster", id)
      end

      Pages = Swarm::IPC::ProgressPages
      private_constant :FakeConsumer, :FakeTopics, :Pages

      def setup
        super
        @pages = []
        @consumer, @topics, @node = FakeConsumer.new, FakeTopics.new, Testing.node
      end

      def teardown
        @pages.each(&:close)
        super
      end

      test "begins where its predecessor was, and commits that before it reads anything" do
        kill_at(42, committed: [40, 7, nil])
        committed = resume([40, 7, nil])
        assert_equal [42, nil], committed.first(2)
        assert_equal [[[*KEY, *committed]]], @consumer.commits
        found = Processing::CommitMetadata.read(committed.last, 42)
        assert_equal "first", found.origin.topic_id
        assert_equal [{ group: "g", partitions: 1, messages: 2 }], resumed
      end

      # Otherwise each node loads it again, and none can once a deploy has removed the gems.
      test "loads nothing in the node that the mold hasn't loaded" do
        out, = run_program(<<~RUBY, gems: true)
          require "skep/kafka"
          loaded = $LOADED_FEATURES.dup
          Skep::Kafka::Consumer::MemberProgress.digest("orders")
          p $LOADED_FEATURES - loaded
        RUBY
        assert_equal "[]\n", out
      end

      test "has by key what its predecessor has done beyond, and the failures of the commit" do
        failures = [40, 41, 44].to_h { |at| [at, failure(at)] }
        text = Processing::CommitMetadata.write(40, failures:, done: "0")
        kill_at(41, offsets: [43, 44], ordered_by: :key, committed: [40, nil, text])
        offset, _, metadata = resume([40, nil, text])
        found = Processing::CommitMetadata.read(metadata, offset)
        assert_equal [41, "0011", [41]], [offset, found.done_from(41), found.failures.keys]
      end

      test "hands on to its own successor what it has begun with, also if it does nothing" do
        kill_at(41, offsets: [43], ordered_by: :key, committed: [40, nil, nil])
        2.times { @last = resume([40, nil, nil]) }
        assert_equal 41, @last.first
        assert_equal "001", Processing::CommitMetadata.read(@last.last, 41).done_from(41)
      end

      test "has room for the longest names" do
        @consumer.define_singleton_method(:identity) { ["g" * 255, "i" * 249] }
        @topics.define_singleton_method(:origin) do |_|
          Processing::OffsetOrigin.new("c" * 249, id)
        end
        kill_at(42)
        assert_equal 42, resume([40, nil, nil]).first
      end

      test "begins at the committed offset in another generation, or outside of any" do
        [4, nil].each do |generation|
          kill_at(42)
          @consumer.generation = generation
          assert_unused
          @consumer.generation = 3
        end
      end

      test "begins at the committed offset of a topic that was created again" do
        kill_at(42)
        @topics.id = "second"
        assert_unused
      end

      test "begins at the committed offset if that is higher" do
        kill_at(42)
        assert_unused([43, nil, nil])
      end

      test "begins at the committed offset if the partition has no such offset" do
        kill_at(42)
        @consumer.high = 41
        assert_unused
      end

      test "reports once how many partitions begin at the committed offset for the same reason" do
        keys = Array.new(3) { |number| ["orders", number] }
        rows = keys.to_h { |key| [key, Processing::FormerProgress::Row.new(position: 42, done: "")] }
        @consumer.define_singleton_method(:ends) { |*| nil }
        @topics.id = nil
        committed = keys.to_h { |key| [key, [40, nil, nil]] }
        assert_empty member.send(:usable, rows, committed)
        events = @node.events_named(:kafka_progress_unused)
        assert_equal [3], events.map { |facts| facts[:partitions] }
        assert_match(/begins and ends/, events.first[:reason])
      end

      test "begins at the committed offset if the group refuses to commit" do
        kill_at(42)
        @consumer.code = NOT_MEMBER
        assert_equal [40, nil, nil], resume([40, nil, nil])
        assert_empty resumed
      end

      test "begins at the committed offset if the group hasn't said which it is" do
        kill_at(42)
        committed = {}
        member.resume([KEY], committed)
        assert_empty committed
        assert_empty @consumer.commits
      end

      test "begins at the predecessor's position in a group without an offset" do
        kill_at(42, committed: nil)
        assert_equal 42, resume(nil).first
      end

      test "begins where a seek leads that the predecessor was about to commit" do
        kill_at(42) { |one| one.sought(KEY, 500) }
        assert_equal 500, resume([40, nil, nil]).first
      end

      test "begins at the committed offset if a seek goes back" do
        kill_at(42) { |one| one.sought(KEY, 10) }
        assert_unused
      end

      test "leaves nothing after its last commit, nor of a revoked partition" do
        kill_at(42, &:close)
        assert_unused
        kill_at(42) { @row.clear }
        assert_unused
      end

      test "leaves nothing of a generation that it doesn't know" do
        @consumer.generation = nil
        kill_at(42)
        @consumer.generation = 3
        assert_unused
      end

      test "uses a predecessor's page once" do
        kill_at(42)
        one = member
        one.resume([KEY], { KEY => [40, nil, nil] })
        one.assigned
        committed = { KEY => [41, nil, nil] }
        one.resume([KEY], committed)
        assert_equal [41, nil, nil], committed[KEY]
        assert_equal 1, @consumer.commits.size
      end

      test "is used by static members whose offsets are commits of the group alone" do
        options = { kafka: { "bootstrap.servers": "none" }, group: "g", topics: "orders" }
        assert MemberProgress.of_use?(Config::SourceOptions.new(**options))
        [{ transactional: true }, { offsets: :database }].each do |more|
          source = Source.new(**options, **more)
          refute MemberProgress.of_use?(source.__options)
          assert_nil source.__progress_cells
        end
        assert_equal MemberProgress::CELLS, Source.new(**options).__progress_cells
        assert_nil MemberProgress.for(Config::SourceOptions.new(**options), node: @node,
                                                                            consumer: @consumer)
      end

      private

      # A process of the slot, with its own page and the last one's.
      def member
        own = OS::SharedPage.create(200)
        former = @pages.last if @pages.any? && Pages.in_use?(@pages.last)
        @pages << own
        options = Config::SourceOptions.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                            topics: "orders")
        report = Metrics::EventReporter.new(@node, options.settings)
        MemberProgress.new(options, pages: Pages.new(own, former), consumer: @consumer, report:,
                                    identity: ["swarm", *@consumer.identity],
                                    topic_recreation: @topics)
      end

      # A member processes up to there, and is killed.
      def kill_at(position, offsets: nil, committed: [40, nil, nil], ordered_by: :partition)
        one = member
        begin_at(one, committed, ordered_by)
        @row.done(position, offsets:)
        yield one if block_given?
      end

      # Returns where the next one begins.
      def resume(committed)
        one = member
        committed = { KEY => committed }
        one.resume([KEY], committed)
        begin_at(one, committed[KEY], :key)
        committed[KEY]
      end

      def begin_at(one, committed, ordered_by)
        options = Struct.new(:ordered_by, :max_out_of_order).new(ordered_by, 500)
        offset, epoch, metadata = *committed
        metadata = Processing::CommitMetadata.read(metadata, offset)
        @row = one.add(KEY, options, offset, epoch, metadata)
        one.assigned
      end

      def assert_unused(committed = [40, nil, nil])
        assert_equal committed, resume(committed)
        assert_empty @consumer.commits
      end

      def resumed = @node.events_named(:kafka_progress_resumed)

      def failure(offset) = Failure::FailureCount.restore(offset, [1, 0, 5], OS.now)
    end
  end
end
