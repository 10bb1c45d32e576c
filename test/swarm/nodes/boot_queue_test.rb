# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class BootQueueTest < Skep::TestCase
  test "doesn't launch a node for a retired slot, neither at once nor later" do
    slot = Skep::Swarm::Nodes::Slot.new(0, 0)
    slot.retire
    boots = boots(nil)
    boots.enqueue(slot)
    boots.later(slot, 0.1)
    refute_predicate boots, :any?
    refute_predicate slot, :waiting?
  end

  test "launches at once what was to be launched later, and nothing else" do
    loop = Skep::OS::EventLoop.new
    slot = Skep::Swarm::Nodes::Slot.new(0, 0)
    boots = boots(loop)
    boots.start_now(slot)
    refute_predicate boots, :any?
    boots.later(slot, 3600)
    refute_predicate boots, :any?
    boots.start_now(slot)
    assert_predicate boots, :any?
    refute_predicate slot.wait_timer, :pending?
  ensure
    loop.close
  end

  test "without room on the page a launch has failed, and no descriptor is left open" do
    loop = Skep::OS::EventLoop.new
    events, failed = Skep::Swarm::Runtime::EventBus.new, []
    events.subscribe(:launch_failed) { |event| failed << [event.subject, event.facts[:error]] }
    full = Skep::Swarm::Nodes::NodeTable.new(0)
    config = Skep::Swarm::Definition::Config.new("a", {})
    boots = Skep::Swarm::Nodes::BootQueue.new(config, loop:, events:, page: nil, layout: nil,
                                                      node_table: full, suspects: nil, connect: nil)
    slot = Skep::Swarm::Nodes::Slot.new(0, 0)
    boots.mold = :mold
    GC.disable # it would close what is left open
    before = Dir.children("/proc/self/fd").size
    boots.enqueue(slot)
    assert_equal [[slot, "the page has no room for another node"]], failed
    assert_equal before, Dir.children("/proc/self/fd").size
  ensure
    GC.enable
    loop.close
  end

  private

  def boots(loop)
    Skep::Swarm::Nodes::BootQueue.new(nil, loop:, events: nil, page: nil, layout: nil,
                                           node_table: nil, suspects: nil, connect: nil)
  end
end
