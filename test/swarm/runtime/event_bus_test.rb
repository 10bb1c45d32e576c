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

  test "subscribers to every event receive it before those that named it, in their order" do
    @bus.subscribe(:node_died, :node_exited) { |event| @received << [1, event.name] }
    @bus.subscribe { |event| @received << [2, event.name] }
    @bus.subscribe(:node_died) { |event| @received << [3, event.name] }
    @bus.subscribe { |event| @received << [4, event.name] }
    %i[node_ready node_died].each { |name| @bus.publish(name) }
    assert_equal [[2, :node_ready], [4, :node_ready], [2, :node_died], [4, :node_died],
                  [1, :node_died], [3, :node_died]], @received
  end

  test "an event has its subject's facts and its own, and omits its own nil facts" do
    @bus.subscribe { |event| @received << event }
    node = Subject.new({ node: 3, mold: 0, pid: nil })
    @bus.publish(:node_died, node, level: :warn, signal: "KILL", reason: nil)
    event = @received.first
    assert_equal [:warn, node, { node: 3, mold: 0, pid: nil, signal: "KILL" }],
                 [event.level, event.subject, event.facts]
  end

  test "an event of the user's work reaches no subscriber to the supervisor's event of that name" do
    @bus.subscribe(:node_died) { flunk }
    @bus.subscribe { |event| @received << event.name }
    @bus.publish("node_died")
    assert_equal ["node_died"], @received
  end

  test "an internal fact reaches only subscribers that named it" do
    @bus.subscribe { flunk }
    @bus.subscribe(:mold_loaded) { |event| @received << [event.subject, event.facts] }
    @bus.announce(:mold_loaded, 3, plain: nil)
    assert_equal [[3, { plain: nil }]], @received
  end

  test "a subscriber receives nothing after it has unsubscribed" do
    first = @bus.subscribe(:node_died) do
      @received << 1
      @bus.unsubscribe(first)
    end
    @bus.subscribe(:node_died) { @received << 2 }
    2.times { @bus.publish(:node_died) }
    assert_equal [1, 2, 2], @received
  end
end
