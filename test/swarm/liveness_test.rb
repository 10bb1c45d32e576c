# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class LivenessTest < Skep::TestCase
  test "waits as long as a silence may last" do
    assert_in_delta 10.0, verdict(beat_at: 100.0, now: 120.0)
  end

  test "takes too long a silence for a hang" do
    assert_equal :hung, verdict(beat_at: 100.0, now: 130.0)
  end

  test "believes what was declared" do
    assert_in_delta 50.0, verdict(beat_at: 100.0, busy_until: 200.0, now: 150.0)
    assert_equal :hung, verdict(beat_at: 100.0, busy_until: 200.0, now: 200.0)
  end

  private

  def verdict(beat_at:, now:, busy_until: 0.0)
    Skep::Swarm::Liveness.new(timeout: 30.0).verdict(beat_at:, busy_until:, now:)
  end
end
