# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class EventCounterTest < Skep::TestCase
  test "counts events by name" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    event_counter.event("swarm_started", :info, {})
    2.times { event_counter.event("node_died", :warn, {}) }
    assert_equal({ "swarm_started" => 1, "node_died" => 2 }, event_counter.counts)
  end

  test "counts events with further names as \"other\" after 200 names" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    1_000.times { |number| event_counter.event("order_#{number}", :info, {}) }
    event_counter.event("order_1", :info, {})
    assert_equal 201, event_counter.counts.size
    assert_equal [2, 800], event_counter.counts.values_at("order_1", "other")
  end
end
