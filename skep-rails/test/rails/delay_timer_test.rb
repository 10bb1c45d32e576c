# frozen_string_literal: true

require "test_helper"
require "skep/error"
require "skep/rails/delay_topics"
require "skep/rails/delay_timer"

# How long delayed jobs wait where the clocks of two hosts differ. `skew` is by how many seconds the
# clock of the node is ahead of that of the host that enqueued the job.
class RailsDelayTimerTest < Skep::TestCase
  LENGTHS = { "5s" => 5, "60s" => 60, "600s" => 600, "7200s" => 7200 }.freeze
  DELAYS = Skep::Rails.const_get(:DelayTopics).new(LENGTHS)
  Timer = Skep::Rails.const_get(:DelayTimer)
  Message = Struct.new(:topic, :partition, :offset, :timestamp)
  private_constant :LENGTHS, :DELAYS, :Timer, :Message

  test "equal clocks: a job runs when it is due" do
    [0.5, 8, 61, 3_599, 86_400].each do |wait|
      assert_in_delta wait, runs_after(wait, skew: 0), 1e-3
    end
  end

  test "a node whose clock is behind runs a job when it is due" do
    [0.5, 8, 61, 3_599].each { |wait| assert_in_delta wait, runs_after(wait, skew: -30), 1e-3 }
  end

  test "nodes whose clocks differ by turns run a job when it is due, or by that much earlier" do
    [8, 61, 3_599, 86_400].each do |wait|
      time = runs_after(wait, skew: [-30, 0, 30])
      assert_operator time, :<=, wait + 1e-3
      assert_operator time, :>=, wait - 60 - 1e-3
    end
  end

  test "a node whose clock is ahead runs a job earlier by as much, however often it is forwarded" do
    assert_in_delta 86_370, runs_after(86_400, skew: 30), 1e-3
    assert_in_delta 0, runs_after(8, skew: 30), 1e-3
  end

  test "a message that is read again counts from when it was first seen" do
    timer = Timer.new(DELAYS)
    message = message_at(100)
    assert_equal 5, timer.stay(message, 200, now: 70, seen_at: 0).seconds_left(0)
    assert_equal 1, timer.stay(message, 200, now: 74, seen_at: 4).seconds_left(4)
    timer.ended(message)
    assert_equal 5, timer.stay(message, 200, now: 74, seen_at: 4).seconds_left(4)
  end

  test "another message at that place has its own stay" do
    timer = Timer.new(DELAYS)
    timer.stay(message_at(100), 200, now: 100, seen_at: 0)
    [[1, 104, 4], [1, 106, 6]].each do |offset, now, seen_at| # the second: a recreated topic
      stay = timer.stay(message_at(now, offset:), 200, now:, seen_at:)
      assert_equal 5, stay.seconds_left(seen_at)
    end
  end

  test "the time that a message has waited before counts" do
    stay = Timer.new(DELAYS).stay(message_at(100), 200, now: 103, seen_at: 0)
    assert_equal 2, stay.seconds_left(0)
  end

  test "a message of the future tells that this host's clock is behind" do
    timer = Timer.new(DELAYS)
    assert_equal 30, timer.stay(message_at(100), 200, now: 70, seen_at: 0).ahead
    assert_nil timer.stay(message_at(100, offset: 1), 200, now: 130, seen_at: 0).ahead
  end

  private

  def message_at(time, topic: "5s", offset: 0) = Message.new(topic, 0, offset, Time.at(time))

  # Returns when the job runs, by the clock of the host that enqueued it. Each hop is another
  # node's, which reads its message at once.
  def runs_after(wait, skew:)
    real = hop = 0.0
    written = 0.0
    while (topic = DELAYS.topic(wait - written))
      now = real + Array(skew)[hop % Array(skew).size]
      message = message_at(written, topic:)
      stay = Timer.new(DELAYS).stay(message, wait, now:, seen_at: real)
      real += [stay.seconds_left(real), 0].max
      written = stay.writers_time(real)
      hop += 1
    end
    real
  end
end
