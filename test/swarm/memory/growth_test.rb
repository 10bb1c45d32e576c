# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class GrowthTest < Skep::TestCase
  test "keeps the least and the most of each stretch that is over" do
    growth = grown([0.1, 5], [0.9, 3], [1.5, 8], [1.7, 9], [2.0, 1])
    assert_equal [[0.0, 3, 5], [1.0, 8, 9]], growth.life.map(&:to_a)
  end

  test "leaves out stretches in which nothing was seen" do
    assert_equal [[0.0, 1, 1], [7.0, 2, 2]], grown([0, 1], [7, 2], [9, 3]).life.map(&:to_a)
  end

  test "makes two stretches one when time runs out" do
    growth = grown(*(0..12).map { |second| [second, second] })
    assert_equal [[0.0, 0, 1], [2.0, 2, 3], [4.0, 4, 5], [6.0, 6, 7], [8.0, 8, 9], [10.0, 10, 11]],
                 growth.life.map(&:to_a)
  end

  test "stays small, however long nothing was seen" do
    growth = grown([0, 1], [1_000_000, 2])
    assert_equal [[0.0, 1, 1]], growth.life.map(&:to_a)
    assert_in_delta 1_000_000, growth.age(1_000_000.0)
  end

  test "keeps the last six stretches of some lengths" do
    rows = grown(*(0..10_000).map { |second| [second, second] }).rows
    assert_equal [2.5, 10, 40, 160, 1024], (rows.map { |row| row[1].at - row[0].at })
    assert_equal [[9940.0, 9940, 9949], [9950.0, 9950, 9959]], rows[1].first(2).map(&:to_a)
    assert_equal [6], rows.map(&:size).uniq
  end

  test "has no row before there are six" do
    assert_empty grown(*(0..5).map { |second| [second, second] }).rows
  end

  test "knows the deepest fall" do
    assert_equal 0, grown([0, 1], [1, 2], [2, 3]).fall
    assert_equal 7, grown([0, 5], [1, 9], [2, 2], [3, 4], [4, 1], [5, 1], [5.5, 5]).fall - 1
  end

  private

  def grown(*seen)
    Skep::Swarm::Memory::Growth.new(0.0).tap do |growth|
      seen.each { |second, bytes| growth.add(bytes, second.to_f) }
    end
  end
end
