# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class TallyTest < Skep::TestCase
  test "counts events by name, over the supervisor's programs" do
    tally = Skep::Swarm::Tally.new
    2.times { tally.event("node_died", :warn, {}) }
    kept = JSON.parse(JSON.generate(tally.keep(nil)))
    again = Skep::Swarm::Tally.new
    again.event("upgrade_done", :info, {})
    again.event("node_died", :warn, {})
    again.resumed(nil, kept, nil)
    assert_equal({ "upgrade_done" => 1, "node_died" => 3 }, again.counts)
  end

  test "begins at nothing where the program before didn't count" do
    tally = Skep::Swarm::Tally.new
    tally.resumed(nil, nil, nil)
    assert_empty tally.counts
  end

  test "has no room for ever more names" do
    tally = Skep::Swarm::Tally.new
    1_000.times { |number| tally.event("order_#{number}", :info, {}) }
    tally.event("order_1", :info, {})
    assert_equal 201, tally.counts.size
    assert_equal [2, 800], tally.counts.values_at("order_1", "other")
  end
end
