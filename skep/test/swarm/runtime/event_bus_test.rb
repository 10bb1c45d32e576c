# frozen_string_literal: true

require "test_helper"
require "skep"

class EventBusTest < Skep::TestCase
  Subject = Struct.new(:event_facts)
  private_constant :Subject

  def setup
    @bus = Skep::Swarm::Runtime::EventBus.new
    @received = []
  end

  test "subscribers receive each event, in their order" do
    @bus.subscribe { |event| @received << [1, event.name] }
    @bus.subscribe { |event| @received << [2, event.name] }
    [:node_ready, "paid"].each { |name| @bus.publish(name) }
    assert_equal [[1, :node_ready], [2, :node_ready], [1, "paid"], [2, "paid"]], @received
  end

  test "an event has its subject's facts and its own, and omits its own nil facts" do
    @bus.subscribe { |event| @received << event }
    node = Subject.new({ node: 3, mold: 0, pid: nil })
    @bus.publish(:node_died, node, level: :warn, signal: "KILL", reason: nil)
    event = @received.first
    assert_equal [:warn, node, { node: 3, mold: 0, pid: nil, signal: "KILL" }],
                 [event.level, event.subject, event.facts]
  end

  test "counts events by name" do
    @bus.publish(:swarm_started)
    2.times { @bus.publish(:node_died) }
    assert_equal({ "swarm_started" => 1, "node_died" => 2 }, @bus.counts)
  end

  test "counts events with further names as \"other\" after 200 names" do
    1_000.times { |number| @bus.publish("order_#{number}") }
    @bus.publish("order_1")
    assert_equal 201, @bus.counts.size
    assert_equal [2, 800], @bus.counts.values_at("order_1", "other")
  end
end
