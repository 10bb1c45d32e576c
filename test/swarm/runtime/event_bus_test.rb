# frozen_string_literal: true

require "test_helper"
require "skep"

class EventBusTest < Skep::TestCase
  Subject = Struct.new(:event_facts)
  private_constant :Subject

  def setup
    @bus = Skep::Swarm::Runtime::EventBus.new
    @heard = []
  end

  test "each subscriber hears the events it named, in the order of subscription" do
    @bus.subscribe { |event| @heard << [:every, event.name] }
    @bus.subscribe(:node_died, :node_exited) { |event| @heard << [:ends, event.name] }
    %i[node_ready node_died].each { |name| @bus.publish(name) }
    assert_equal [%i[every node_ready], %i[every node_died], %i[ends node_died]], @heard
  end

  test "an event has its subject's facts, its own, and none that is nil" do
    @bus.subscribe { |event| @heard << event }
    node = Subject.new({ node: 3, mold: 0, pid: nil })
    @bus.publish(:node_died, node, level: :warn, signal: "KILL", reason: nil)
    event = @heard.first
    assert_equal [:warn, node, { node: 3, mold: 0, pid: nil, signal: "KILL" }],
                 [event.level, event.subject, event.facts]
  end

  test "a work's own event is no event of the supervisor, whatever its name" do
    @bus.subscribe(:node_died) { flunk }
    @bus.subscribe { |event| @heard << event.name }
    @bus.publish("node_died")
    assert_equal ["node_died"], @heard
  end

  test "an internal fact reaches those only that named it" do
    @bus.subscribe { flunk }
    @bus.subscribe(:mold_loaded) { |event| @heard << [event.subject, event.facts] }
    @bus.announce(:mold_loaded, 3, plain: nil)
    assert_equal [[3, { plain: nil }]], @heard
  end

  test "a subscriber that has unsubscribed hears nothing more" do
    first = @bus.subscribe(:node_died) do
      @heard << 1
      @bus.unsubscribe(first)
    end
    @bus.subscribe(:node_died) { @heard << 2 }
    2.times { @bus.publish(:node_died) }
    assert_equal [1, 2, 2], @heard
  end
end
