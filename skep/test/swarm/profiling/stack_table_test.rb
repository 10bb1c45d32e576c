# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class StackTableTest < Skep::TestCase
  Table = Skep::Swarm::Profiling::StackTable
  ADD = ["Order#add", "order.rb", 3].freeze
  RUN = ["Order#run", "order.rb", 9].freeze
  ORDERS = { "topic" => "orders" }.freeze
  private_constant :Table, :ADD, :RUN, :ORDERS

  test "adds the time of equal stacks, the heaviest first, and names each thing once" do
    table = Table.new
    table.add("cpu", "one", ORDERS, 5, [RUN], 0.25)
    2.times { table.add("cpu", "one", ORDERS, 4, [ADD, RUN], 0.5) }
    table.add("wait", "two", {}, 9, [RUN], 0.1)
    plain = table.to_plain(10_000)
    assert_equal({ "threads" => %w[one two], "labels" => [ORDERS, {}], "frames" => [ADD, RUN],
                   "stacks" => [["cpu", 0, 0, 4, [0, 1], 1.0], ["cpu", 0, 0, 5, [1], 0.25],
                                ["wait", 1, 1, 9, [1], 0.1]],
                   "dropped" => {}, "dropped_stacks" => 0 }, plain)
  end

  test "tells the time of stacks beyond the most by state" do
    table = Table.new(most: 2)
    4.times { |line| table.add("cpu", "one", {}, line, [RUN], 1.0) }
    table.add("wait", "one", {}, 1, [RUN], 3.0)
    plain = table.to_plain(10_000)
    assert_equal [2, { "cpu" => 2.0, "wait" => 3.0 }, 3],
                 [plain["stacks"].size, *plain.values_at("dropped", "dropped_stacks")]
  end

  test "keeps the heaviest stacks that the bytes have room for" do
    table = Table.new
    200.times do |number|
      frame = ["method#{number}", "#{"long" * 20}.rb", 1]
      table.add("cpu", "one", {}, number, [frame], number + 1.0)
    end
    plain = table.to_plain(4_096)
    kept = plain["stacks"].map(&:last)
    assert_operator JSON.generate(plain).bytesize, :<=, 4_096
    assert_operator kept.size, :>, 10
    assert_equal kept.max(kept.size), kept
    assert_equal 200.0, kept.first
    assert_in_delta 20_100, kept.sum + plain["dropped"]["cpu"], 0.01
    assert_equal 200, kept.size + plain["dropped_stacks"]
  end

  test "keeps stacks that fit although a heavier one doesn't" do
    table = Table.new
    table.add("cpu", "one", {}, 1, Array.new(100) { |n| ["long#{n}" * 20, "a.rb", n] }, 9.0)
    table.add("cpu", "one", {}, 2, [RUN], 1.0)
    assert_equal [1.0], table.to_plain(4_096)["stacks"].map(&:last)
  end
end
