# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class TallyTest < Skep::TestCase
  test "counts events by name, over the supervisor's programs" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    2.times { event_counter.event("node_died", :warn, {}) }
    kept = JSON.parse(JSON.generate(event_counter.dump(nil)))
    again = Skep::Swarm::Supervisor::EventCounter.new
    again.event("upgrade_finished", :info, {})
    again.event("node_died", :warn, {})
    again.on_resume(nil, kept, nil)
    assert_equal({ "upgrade_finished" => 1, "node_died" => 3 }, again.counts)
  end

  test "begins at nothing where the program before didn't count" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    event_counter.on_resume(nil, nil, nil)
    assert_empty event_counter.counts
  end

  test "has no room for ever more names" do
    event_counter = Skep::Swarm::Supervisor::EventCounter.new
    1_000.times { |number| event_counter.event("order_#{number}", :info, {}) }
    event_counter.event("order_1", :info, {})
    assert_equal 201, event_counter.counts.size
    assert_equal [2, 800], event_counter.counts.values_at("order_1", "other")
  end
end
