# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# How facts are cut that are larger than a message may be.
class PlainDataTest < Skep::TestCase
  PlainData = Skep::Swarm::IPC::PlainData
  private_constant :PlainData

  test "keeps a list that fits, and says nothing of it" do
    assert_equal({ "group" => "g", "rows" => [{ "a" => "b" }] },
                 PlainData.cut({ rows: [{ a: :b }], group: "g" }, :rows, bytes: 1_000))
  end

  test "cuts a list where it is too large, and counts what is left out" do
    rows = Array.new(100) { |number| { topic: "orders", partition: number } }
    plain = PlainData.cut({ group: "g", rows: }, :rows, bytes: 2_000)

    assert_equal rows.size, plain["rows"].size + plain["rows_left_out"]
    assert_operator plain["rows"].size, :>, 20
    assert_equal({ "topic" => "orders", "partition" => 0 }, plain["rows"].first)
    assert_equal plain, PlainData.bounded(plain, bytes: 2_000)
  end

  test "raises if the facts are too large without the list" do
    assert_raises(PlainData::TooMuch) do
      PlainData.cut({ text: "x" * 2_000, rows: [1] }, :rows, bytes: 1_000)
    end
  end
end
