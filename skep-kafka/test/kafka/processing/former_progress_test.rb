# frozen_string_literal: true

require "test_helper"
require "skep"
require "skep/kafka"

module Skep
  module Kafka
    # A page of progress, as the next process reads it: each way in which it could be wrong.
    class FormerProgressTest < Skep::TestCase
      Page = Processing::ProgressPage
      Former = Processing::FormerProgress
      IDENTITY = %w[billing orders billing-0].freeze
      KEY = ["orders", 3].freeze
      SESSION = 45.0
      Opened = Struct.new(:offset)
      private_constant :Page, :Former, :IDENTITY, :KEY, :SESSION, :Opened

      def setup
        super
        @shared = OS::SharedPage.create(40)
        @page = Page.new(@shared, IDENTITY)
        @row = @page.row(*KEY, topic_id: "id")
        @row.begin_at(40, epoch: 7)
        @page.publish(generation: 5)
      end

      def teardown
        @shared.close
        super
      end

      test "says where a partition is, for the same member in the same generation" do
        @row.done(42, epoch: 7)
        assert_nil refusal
        assert_equal [42, 7, "id", ""], row.to_h.values_at(:position, :epoch, :topic_id, :done)
        assert_nil row_refusal
      end

      test "is in use for the supervisor as long as it says something" do
        assert Swarm::IPC::ProgressPages.in_use?(@shared)
        @page.withdraw
        refute Swarm::IPC::ProgressPages.in_use?(@shared)
        assert_nil Former.read(@shared)
      end

      test "isn't used after a rebalance: in another generation, or without one" do
        assert_match(/rebalance/, refusal(generation: 6))
        assert_match(/rebalance/, refusal(generation: 4))
        assert_match(/isn't known/, refusal(generation: nil))
      end

      test "isn't used by another swarm, group or member" do
        [%w[other orders billing-0], %w[billing other billing-0],
         %w[billing orders billing-1]].each do |identity|
          assert_match(/another member/, refusal(identity:))
        end
      end

      test "isn't used once the session may have ended, or if it is from the future" do
        assert_nil refusal(now: Page.now + (40 * 1_000_000_000))
        assert_match(/session/, refusal(now: Page.now + (41 * 1_000_000_000)))
        assert_match(/session/, refusal(now: Page.now - (60 * 1_000_000_000)))
      end

      test "says when the process was a member last" do
        @shared.set(0, Page::MEMBER_AT, 1)
        assert_match(/session/, refusal)
        @page.member_seen
        assert_nil refusal
      end

      test "isn't read from a page of another version" do
        Swarm::IPC::ProgressPages.publish(@shared, Page::VERSION + 1)
        assert_nil Former.read(@shared)
      end

      test "isn't read from a page without a whole identity" do
        @shared.write(0, "#{@shared.read(0).b[0..-2]}x")
        assert_nil Former.read(@shared)
      end

      test "has no row that is torn" do
        whole = @shared.read(1).b
        [whole[0..-2], "#{whole[0..-2]}x", "", "\0" * 438, "xxxx[1"].each do |torn|
          @shared.write(1, torn)
          assert_empty former.rows
        end
        @shared.write(1, whole)
        assert_equal 40, row.position
      end

      test "has no row whose position isn't known, nor one that was cleared" do
        other = @page.row("orders", 4)
        other.begin_at(nil)
        assert_equal [KEY], former.rows.keys
        other.done(1)
        assert_equal 1, former.rows[["orders", 4]].position
        @row.clear
        @row.done(50) # of a handler that ends too late
        @row.restart(50)
        assert_equal [["orders", 4]], former.rows.keys
      end

      test "isn't used for a topic that was created again" do
        assert_match(/created again/, row_refusal(topic_id: "new"))
        assert_match(/created again/, row_refusal(topic_id: nil)) # it isn't known whether it was
      end

      test "is used without topic ids only if the group has an offset: a deletion deletes it" do
        bare = Former::Row.new(position: 40, topic_id: nil)
        same = { topic_id: nil, low: 0, high: 50 }
        assert_nil bare.refusal(committed: 39, **same)
        assert_match(/created again/, bare.refusal(committed: nil, **same))
        assert_nil row_refusal(committed: nil) # with ids, that says nothing
      end

      test "isn't used behind the committed offset" do
        assert_nil row_refusal(committed: 40)
        assert_match(/committed/, row_refusal(committed: 41))
      end

      test "isn't used beyond the end, before the beginning, or if they aren't known" do
        assert_nil row_refusal(low: 40, high: 40)
        assert_match(/no such offset/, row_refusal(high: 39))
        assert_match(/no such offset/, row_refusal(low: 41))
        assert_match(/isn't known/, row_refusal(low: nil))
        assert_match(/isn't known/, row_refusal(high: nil))
      end

      test "says of a seek where it leads, also backwards, and nothing of what was done before" do
        keyed = @page.row("keyed", 0, ring: 100)
        keyed.begin_at(40)
        keyed.done(40, offsets: [45, 50])
        keyed.restart(10)
        assert_equal [10, ""], former.rows[["keyed", 0]].to_h.values_at(:position, :done)
        @row.restart(100)
        assert_equal [100, nil], row.to_h.values_at(:position, :epoch)
      end

      test "has no epoch with another offset than its own, whenever the process is killed" do
        moves = [[41, 7], [42, nil], [43, 8], [44, 8], [45, 9]]
        allowed = [[40, 7], *moves, *moves.map { |offset, _| [offset, nil] }, [40, nil]]
        shared = @shared
        look = -> { row.to_h.values_at(:position, :epoch) }
        shared.define_singleton_method(:set) do |*arguments|
          super(*arguments)
          raise "unexpected #{look.call}" unless allowed.include?(look.call)
        end
        moves.each { |offset, epoch| @row.done(offset, epoch:) }
        assert_equal [45, 9], look.call
      end

      test "knows by key which messages after the position are done" do
        keyed = @page.row("keyed", 0, ring: 100)
        keyed.begin_at(1_000)
        random = Random.new(1)
        undone = (1_000...4_000).to_a
        done = {}
        until undone.empty?
          some = undone.first(60).sample(7, random:).sort
          undone -= some
          some.each { |offset| done[offset] = true }
          position = undone.first || 4_000
          keyed.done(position, offsets: some, highest: 9)
          found = former.rows[["keyed", 0]]
          assert_equal [position, 9], found.to_h.values_at(:position, :highest)
          wanted = (position...4_000).select { |offset| done[offset] }
          assert_equal wanted, offsets(found)
        end
      end

      test "knows by key what an earlier owner has done" do
        keyed = @page.row("keyed", 0, ring: 100)
        keyed.begin_at(1_000, highest: 3, done: "0110001")
        assert_equal [1_001, 1_002, 1_006], offsets(former.rows[["keyed", 0]])
        assert_equal "0110001", former.rows[["keyed", 0]].done
      end

      test "forgets what is further from the position than the row has room for" do
        keyed = @page.row("keyed", 0, ring: 32)
        keyed.begin_at(0)
        keyed.done(0, offsets: [5, 447, 448, 100_000])
        assert_equal [5, 447], offsets(former.rows[["keyed", 0]])
        keyed.done(448 + 1)
        assert_equal [], offsets(former.rows[["keyed", 0]])
      end

      test "takes nothing for done after the log was truncated and written again" do
        keyed = @page.row("keyed", 0, ring: 100)
        keyed.begin_at(0)
        keyed.done(0, offsets: [5, 6, 30])
        keyed.opened([Opened.new(31)])
        assert_equal [5, 6, 30], offsets(former.rows[["keyed", 0]])
        keyed.opened([Opened.new(4), Opened.new(6)])
        assert_equal [], offsets(former.rows[["keyed", 0]])
      end

      test "has as many rows as there is room for, and uses cells of cleared rows again" do
        rows = Array.new(36) { |number| @page.row("more", number) }
        assert(rows.all?)
        keyed = @page.row("keyed", 0, ring: 100)
        keyed.begin_at(1_000, done: "11")
        assert_nil @page.row("more", 36)
        keyed.clear
        again = @page.row("keyed", 1, ring: 100)
        again.begin_at(1_000)
        assert_equal "", former.rows[["keyed", 1]].done
        assert_nil @page.row("more", 36)
      end

      test "has room for the longest name of a topic and the longest ring" do
        shared = OS::SharedPage.create(40)
        page = Page.new(shared, IDENTITY)
        row = page.row("x" * 249, 2_000_000_000, topic_id: "y" * 45, ring: 10_000_000)
        row.begin_at(2**62, epoch: 2**31 - 1, done: "01")
        page.publish(generation: 2**31 - 1)
        found = Former.read(shared).rows[["x" * 249, 2_000_000_000]]
        assert_equal [2**62, 2**31 - 1, "01"], found.to_h.values_at(:position, :epoch, :done)
      ensure
        shared.close
      end

      test "says nothing of the earlier membership of the same process" do
        Page.new(@shared, IDENTITY)
        assert_nil Former.read(@shared)
        Page.new(@shared, IDENTITY).publish(generation: 5)
        assert_empty former.rows
      end

      private

      def former = Former.read(@shared)
      def row = former.rows[KEY]

      def refusal(**other)
        former.refusal(identity: IDENTITY, generation: 5, now: Page.now, session: SESSION, **other)
      end

      def row_refusal(**other)
        row.refusal(committed: 0, topic_id: "id", low: 0, high: 1_000, **other)
      end

      def offsets(row)
        (0...row.done.size).filter_map { |index| row.position + index if row.done[index] == "1" }
      end
    end
  end
end
