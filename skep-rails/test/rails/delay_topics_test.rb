# frozen_string_literal: true

require "test_helper"
require "skep/error"
require "skep/rails/delay_topics"

class RailsDelayTopicsTest < Skep::TestCase
  LENGTHS = { "5s" => 5, "60s" => 60, "600s" => 600, "7200s" => 7200 }.freeze
  DELAYS = Skep::Rails.const_get(:DelayTopics).new(LENGTHS)
  private_constant :LENGTHS, :DELAYS

  test "a job goes to the topic with the longest delay within its wait" do
    waits = { 100_000 => "7200s", 7200 => "7200s", 7199 => "600s", 60 => "60s", 59.9 => "5s" }
    assert_equal waits, waits.to_h { |seconds, _| [seconds, DELAYS.topic(seconds)] }
  end

  test "a shorter wait goes to the topic with the shortest delay" do
    assert_equal "5s", DELAYS.topic(0.1)
  end

  test "a due job has no delay topic" do
    assert_nil DELAYS.topic(0)
    assert_nil DELAYS.topic(-3)
  end

  test "has no topic for a job without delay topics" do
    assert_nil DELAYS.class.new({}).topic(10)
  end

  test "a message stays for its topic's delay, or until its job is due" do
    assert_equal 60, DELAYS.stay("60s", since: 100, due: 1_000)
    assert_equal 3, DELAYS.stay("5s", since: 100, due: 103)
    assert_equal(-7, DELAYS.stay("5s", since: 110, due: 103))
  end

  test "each job runs when it is due, never earlier, after a bounded number of hops" do
    [0.5, 3, 59, 61, 3_599, 86_400, 12 * 86_400].each do |wait|
      steps, now = hops(wait)
      assert_equal wait, now
      assert_operator steps, :<=, 33 + (wait / 7200)
    end
  end

  private

  # Returns the number of hops, and when the job runs.
  def hops(due)
    now = steps = 0
    while (topic = DELAYS.topic(due - now))
      now += DELAYS.stay(topic, since: now, due:)
      steps += 1
    end
    [steps, now]
  end
end
