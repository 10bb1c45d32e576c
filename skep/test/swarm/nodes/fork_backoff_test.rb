# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ForkBackoffTest < Skep::TestCase
  def setup
    super
    @backoff = Skep::Swarm::Nodes::ForkBackoff.new
  end

  test "waits twice as long after each refusal, five seconds at most" do
    seconds = Array.new(8) { @backoff.refused(@backoff.retry_at) }
    assert_equal [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0], seconds
  end

  test "several refusals at a time are one" do
    assert_in_delta 0.1, @backoff.refused(9.0)
    assert_nil @backoff.refused(9.05)
    assert_equal [false, true], [9.05, 9.1].map { |now| @backoff.over?(now) }
    assert_in_delta 0.2, @backoff.refused(9.1)
  end

  test "begins again once a process was granted" do
    3.times { @backoff.refused(@backoff.retry_at) }
    assert_predicate @backoff, :refused?
    @backoff.granted
    refute_predicate @backoff, :refused?
    assert @backoff.over?(0.0)
    assert_in_delta 0.1, @backoff.refused(9.0)
  end
end
