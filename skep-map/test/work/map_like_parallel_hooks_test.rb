# frozen_string_literal: true

require "test_helper"
require "skep/work"
require_relative "support/meeting"

# `start:` and `finish:`, called in the caller as with the gem parallel.
class MapLikeParallelHooksTest < Skep::TestCase
  include Meeting

  class Broken < StandardError
  end

  ITEMS = %i[first second third].freeze
  WORKERS = [{ nodes: 0 }, { nodes: 3 }, { in_threads: 3 }].freeze
  private_constant :ITEMS, :WORKERS

  def after_teardown
    assert_empty own_children
  ensure
    super
  end

  %i[map each].each do |way|
    WORKERS.each do |workers|
      test "#{way} calls hooks for each item with #{workers}" do
        started, finished = [], []
        start = ->(item, index) { started << [item, index] }
        finish = ->(item, index, result) { finished << [item, index, result] }
        Skep.public_send(way, ITEMS, start:, finish:, **workers) { 123 }
        assert_equal [[:first, 0], [:second, 1], [:third, 2]], started.sort_by(&:last)
        assert_equal started.sort_by(&:last).map { |call| [*call, 123] },
                     finished.sort_by { |call| call[1] }
      end
    end

    test "#{way} calls hooks in this process, one at a time" do
      inside = 0
      most = []
      note = lambda do |*|
        inside += 1
        most << inside << Process.pid
        inside -= 1
      end
      Skep.public_send(way, 1..50, nodes: 4, start: note, finish: note) { |item| item }
      assert_equal [1, Process.pid], most.uniq
    end

    test "#{way} calls finish in the items' order with finish_in_order" do
      calls = []
      IO.pipe do |reader, writer|
        finish = ->(item, index, _result) { calls << [item, index] }
        options = { nodes: 2, finish:, finish_in_order: true }
        within do
          Skep.public_send(way, [nil, false, 2, 3], **options) do |item|
            item.nil? ? reader.read(1) : writer.syswrite("!")
          end
        end
      end
      assert_equal [[nil, 0], [false, 1], [2, 2], [3, 3]], calls
    end

    test "#{way} ends when the start hook raises" do
      begun = collecting do |report|
        start = ->(item, _index) { raise Broken if item == 4 }
        assert_raises(Broken) { Skep.public_send(way, 1..100, nodes: 2, start:, &report) }
      end
      assert_empty begun.map(&:to_i).select { |item| item >= 4 }
    end

    test "#{way} starts no item after the finish hook raises" do
      begun = collecting do |report|
        finish = ->(_item, _index, _result) { raise Broken }
        assert_raises(Broken) do
          Skep.public_send(way, 1..1_000, nodes: 2, finish:) { |item| report.call(item) }
        end
      end
      assert_operator begun.size, :<, 1_000
    end

    test "#{way} calls finish for no item that failed or stopped" do
      [Broken, Skep::Stop].each do |ending|
        finished = []
        begin
          Skep.public_send(way, 1..10, nodes: 2, finish: ->(item, *) { finished << item }) do |item|
            raise ending if item == 3
          end
        rescue Broken
          finished << :raised
        end
        refute_includes finished, 3
        assert_equal ending == Broken, finished.include?(:raised)
      end
    end
  end
end
