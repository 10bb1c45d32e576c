# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class EventCounterTest < Skep::TestCase
  test "counts events by name, and adds the previous program's counts after an upgrade" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    2.times { event_counter.event("node_died", :warn, {}) }
    kept = JSON.parse(JSON.generate(event_counter.dump(nil)))
    resumed = Skep::Swarm::Supervisor::EventCounter.new
    resumed.event("upgrade_finished", :info, {})
    resumed.event("node_died", :warn, {})
    resumed.on_resume(nil, kept, nil)
    assert_equal({ "upgrade_finished" => 1, "node_died" => 3 }, resumed.counts)
  end

  test "starts without counts if the previous program kept none" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    event_counter.on_resume(nil, nil, nil)
    assert_empty event_counter.counts
  end

  test "counts events with further names as \"other\" after 200 names" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    1_000.times { |number| event_counter.event("order_#{number}", :info, {}) }
    event_counter.event("order_1", :info, {})
    assert_equal 201, event_counter.counts.size
    assert_equal [2, 800], event_counter.counts.values_at("order_1", "other")
  end
end
