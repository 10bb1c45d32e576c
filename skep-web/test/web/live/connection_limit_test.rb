# frozen_string_literal: true

require "test_helper"
require "skep/web"

# How many pages may be open at a time.
class WebConnectionLimitTest < Skep::TestCase
  def setup = @limit = Skep::Web::Live::ConnectionLimit.new

  test "a reservation without a stream is released after ten seconds" do
    64.times { assert @limit.reserve("ada", 1.0) }
    assert_nil @limit.reserve("ada", 10.9)
    assert @limit.reserve("ada", 11.1)
  end

  test "a confirmed reservation is kept until it is released" do
    reservations = Array.new(64) { @limit.reserve("ada", 1.0) }
    assert(reservations.all? { |one| @limit.confirm(one) })
    assert_nil @limit.reserve("ada", 100.0)
    @limit.release(reservations.first)
    assert @limit.reserve("ada", 100.0)
  end

  test "a late stream is refused if all others are taken meanwhile" do
    late = @limit.reserve("ada", 1.0)
    others = Array.new(64) { @limit.reserve("eve", 20.0) }
    refute @limit.confirm(late)
    @limit.release(others.first)
    assert @limit.confirm(late)
  end
end
