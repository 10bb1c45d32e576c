# frozen_string_literal: true

require "test_helper"
require "skep/threads"

class BackoffTest < Skep::TestCase
  # Returns the middle of each range.
  MIDDLE = Class.new { def rand(range) = (range.begin + range.end) / 2 }.new
  private_constant :MIDDLE

  def setup
    super
    @backoff = Skep::Threads::Background.const_get(:Backoff).new(random: MIDDLE)
  end

  test "doesn't pause after the first error, then pauses longer after each" do
    assert_equal [0.0, 0.1, 0.2, 0.4, 0.8], pauses(5)
  end

  test "pauses half a minute at most" do
    assert_equal [25.6, 30.0, 30.0], pauses(12).last(3)
    assert_equal 30.0, pauses(5_000).last
  end

  test "varies the pauses at random" do
    backoff = Skep::Threads::Background.const_get(:Backoff).new(random: Random.new(1))
    backoff.after(taken: 0, ran: 0.0)
    seconds = Array.new(3) { |n| backoff.after(taken: 0, ran: 0.0) / (2**n) }
    assert(seconds.all? { |second| (0.08..0.12).cover?(second) })
    assert_equal 3, seconds.uniq.size
  end

  test "starts again after a run that made progress" do
    pauses(5)
    assert_equal [0.0, 0.1], [@backoff.after(taken: 2, ran: 0.0), *pauses(1)]
    pauses(5)
    assert_equal [0.0, 0.1], [@backoff.after(taken: 0, ran: 30.0), *pauses(1)]
  end

  test "doesn't count one item as progress, because it is the one that failed" do
    pauses(3)
    assert_equal 0.4, @backoff.after(taken: 1, ran: 1.0).round(6)
  end

  private

  def pauses(count) = Array.new(count) { @backoff.after(taken: 0, ran: 0.0).round(6) }
end
