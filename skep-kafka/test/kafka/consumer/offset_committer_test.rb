# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "support/fakes"

module Skep
  module Kafka
    # When offsets are committed that librdkafka doesn't commit by itself.
    class OffsetCommitterTest < ::Skep::TestCase
      Partition = Struct.new(:key, :revocation)
      private_constant :Partition

      # The consumer, which records commits, and the scheduler.
      class Group
        attr_reader :commits

        def initialize = @commits = []
        def commit_later(entries) = @commits << entries
        def committable_offsets(partitions) = yield(partitions.map(&:key))
      end

      def setup
        super
        @group = Group.new
        @partition = Partition.new(["orders", 3])
      end

      def teardown
        @committer&.close
        super
      end

      test "commits after the interval, and doesn't wake up while nothing has changed" do
        committer(interval: 60)
        look
        assert_nil @committer.seconds_left
        refute @committer.io.wait_readable(0)
        @committer.done(@partition)
        assert @committer.io.wait_readable(0)
        look
        refute @committer.io.wait_readable(0)
        @committer.done(Partition.new(["orders", 4]))
        refute @committer.io.wait_readable(0), "once for all of an interval"
        assert_in_delta 60, @committer.seconds_left, 5
        assert_empty @group.commits
      end

      test "commits a failure before that" do
        committer(interval: 60)
        @committer.done(@partition)
        look
        @committer.failed(@partition)
        assert @committer.io.wait_readable(0)
        assert_operator @committer.seconds_left, :<, 1
      end

      test "commits a failure within half a second, though another commit is due soon" do
        committer(interval: 0.9)
        @committer.done(@partition)
        @committer.failed(@partition)
        assert_operator @committer.seconds_left, :<=, 0.5
      end

      test "leaves what is done in the order of the partition to librdkafka" do
        committer(interval: 0, by_key: false)
        @committer.done(@partition)
        look
        assert_empty @group.commits
        @committer.failed(@partition)
        look
        assert_equal [[["orders", 3]]], @group.commits
      end

      test "commits what is due once, without revoked partitions" do
        committer(interval: 0)
        @committer.done(@partition)
        @committer.done(Partition.new(["orders", 4], :begun))
        2.times { look }
        assert_equal [[["orders", 3]]], @group.commits
      end

      test "commits once more what wasn't committed, of each commit" do
        committer(interval: 0)
        other = Partition.new(["orders", 4])
        [@partition, other].each do |partition|
          @committer.done(partition)
          look
        end
        @committer.answered([["orders", 9, 5, 27]]) # librdkafka's own commit
        @committer.answered([["orders", 3, 5, 27]])
        @committer.answered([["orders", 4, 5, 27]])
        look
        assert_equal [[["orders", 3], ["orders", 4]]], @group.commits.drop(2)
        @committer.answered([["orders", 3, 5, 0], ["orders", 4, 5, 0]])
        look
        assert_equal 3, @group.commits.size
      end

      private

      def committer(interval:, by_key: true)
        @committer = Consumer::OffsetCommitter.new(@group, interval:, by_key:)
      end

      def look = @committer.commit_due(@group)
    end

    # What a commit says of the messages from its offset on.
    class CommitMetadataTest < ::Skep::TestCase
      ORIGIN = Processing::OffsetOrigin.new("here", "topic")
      private_constant :ORIGIN

      test "says which messages after the offset are done" do
        found = written(40, done: "0101100")
        done = (38..48).select { |offset| found.done?(offset) }

        assert_equal [41, 43, 44], done
        assert_equal [false, true, true, false], ([39, 40, 44, 45].map { |at| found.about?(at, 0) })
        refute found.about?(40, 1)
        assert_equal ["01011", "11", ""],
                     ([12, 43, 90].map { |offset| found.done_from(offset) })
      end

      test "says how often messages have failed alone, and for how long" do
        failures = Failure::FailureCount.new(since: OS.now - 90, count: 4, own_failures: 2)
        found = written(40, failures: { 43 => failures }).failures

        assert_equal [43], found.keys
        assert_equal [4, 4, 2], found[43].then { |one| [one.count, one.number, one.own_failures] }
        assert_in_delta OS.now - 90, found[43].since, 30
        found[43].add(43, OS.now)
        assert_equal [5, 5], [found[43].count, found[43].number]
      end

      test "is nothing if nothing beyond is done, and nothing has failed" do
        assert_nil Processing::CommitMetadata.write(40)
        assert_nil Processing::CommitMetadata.write(40, done: "0" * 900)
      end

      test "fits into what brokers accept, whatever is done or has failed" do
        random = Random.new(1)
        digits = { "at random" => Array.new(100_000) { random.rand(2).to_s }.join,
                   "all but the first" => "0#{"1" * 130_000}", "the default" => "01" * 2_500 }
        failures = (0...5_000).to_h do |n|
          [n, Failure::FailureCount.new(since: OS.now - 9, count: n % 7, own_failures: 1)]
        end
        digits.each do |name, done|
          origin = Processing::OffsetOrigin.new("c" * 22, "t" * 22)
          text = Processing::CommitMetadata.write(0, done:, failures:, epoch: 900, origin:)
          found = Processing::CommitMetadata.read(text, 0)
          assert_operator text.bytesize, :<, 4_096, name
          assert_equal(6, found.failures.values.map(&:count).min, name)
          covered = found.done_from(0).sub(/0*\z/, "")
          assert done.start_with?(covered), name
          assert_operator covered.size, :>=, [done.size, 15_000].min - 1, name
        end
      end

      test "says of a million messages which are done, if 500 of them wait" do
        random = Random.new(1)
        done = "0#{"1" * 999_999}"
        500.times { done.setbyte(random.rand(done.size - 1), "0".ord) }
        text = Processing::CommitMetadata.write(40, done:)
        assert_operator text.bytesize, :<, 4_096
        assert_equal done, Processing::CommitMetadata.read(text, 40).done_from(40)
      end

      test "ignores the metadata of other programs, and a broken one" do
        facts = ['{"a":1}', '{"skep":1,', '{"skep":1,"at":40}', '{"skep":1,"at":40,"epoch":null}',
                 '{"skep":1,"at":40,"epoch":1e400}']
        broken = ['"done":"%%"', '"done":"AAAA"', '"done":7', '"failed":[1]',
                  '"failed":{"1":["x"]}', '"failed":{"1":1}']
        facts += broken.map { |fact| "{\"skep\":1,\"at\":40,\"epoch\":0,#{fact}}" }
        texts = [nil, "", "NO_METADATA", *facts]

        assert_empty(texts.filter_map { |text| Processing::CommitMetadata.read(text, 40) })
      end

      test "says to which topic the offset belongs" do
        found = written(40, origin: ORIGIN)
        assert_equal [ORIGIN, false], [found.origin, found.done?(40)]
        assert_nil written(40, done: "01").origin
        whole = Processing::CommitMetadata.write(40, epoch: 7, origin: ORIGIN)
        2.times { assert_equal whole, Processing::CommitMetadata.label(40, 7, ORIGIN) }
        text = '{"skep":1,"at":40,"epoch":0,"cluster":7,"topic":"t"}'
        assert_nil Processing::CommitMetadata.read(text, 40).origin
      end

      test "a topic supersedes another one of the same cluster" do
        others = [%w[here other], %w[here topic], %w[there other]]
        found = others.map { |ids| ORIGIN.superseded_by?(Processing::OffsetOrigin.new(*ids)) }
        assert_equal [true, false, false], found
      end

      test "belongs to its offset: a copy at another one says nothing" do
        text = Processing::CommitMetadata.write(40, done: "01", origin: ORIGIN)
        assert Processing::CommitMetadata.read(text, 40).done?(41)
        assert_nil Processing::CommitMetadata.read(text, 17)
      end

      private

      def written(offset, **facts)
        text = Processing::CommitMetadata.write(offset, **facts)
        Processing::CommitMetadata.read(text, offset)
      end
    end
  end
end
