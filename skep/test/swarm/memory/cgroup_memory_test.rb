# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class CgroupMemoryTest < Skep::TestCase
  Group = Struct.new(:limit, :high, :oom_kills, keyword_init: true)
  private_constant :Group

  def setup
    @published = []
    super
  end

  test "doesn't lower an option that the control group allows" do
    memory = cgroup_memory(limit: 1000)
    assert_equal 900, memory.within(:memory_limit, 900)
    assert_nil memory.within(:memory_limit, nil)
    assert_equal 900, cgroup_memory(limit: nil).within(:memory_limit, 900)
    assert_equal 900,
                 Skep::Swarm::Memory::CgroupMemory.new(nil, events: nil).within(:memory_limit, 900)
    assert_empty @published
  end

  test "lowers an option beyond the control group's limit, and publishes memory_lowered" do
    assert_equal 950, cgroup_memory(limit: 1000, high: nil).within(:memory_budget, 5000)
    assert_equal 760, cgroup_memory(limit: 1000, high: 800).within(:memory_budget, 5000)
    name, level, facts = @published.first
    assert_equal %i[memory_lowered warn], [name, level]
    assert_equal({ option: :memory_budget, bytes: 950, asked: 5000, cgroup: 1000 },
                 facts.except(:error))
  end

  test "oom? returns true once for each OOM kill that the kernel has counted" do
    memory = cgroup_memory(oom_kills: 7)
    refute killed?(memory)
    @group.oom_kills = 9
    assert_equal [true, true, false], Array.new(3) { killed?(memory) }
  end

  test "oom? returns true for no exit but SIGKILL" do
    memory = cgroup_memory
    @group.oom_kills = 1
    refute memory.oom?(Skep::Swarm::IPC::ExitStatus.new(nil, "TERM"))
    refute memory.oom?(Skep::Swarm::IPC::ExitStatus.new(1, nil))
    assert killed?(memory)
  end

  test "drops an unmatched kill after ten to twenty seconds, and not before" do
    memory = cgroup_memory
    @group.oom_kills = 1
    [100.0, 105.0, 109.9].each { |now| memory.expire_kills(now) }
    assert killed?(memory)
    @group.oom_kills = 2
    [110.0, 120.0].each { |now| memory.expire_kills(now) }
    refute killed?(memory)
  end

  test "a counter that can't be read for a while changes nothing" do
    memory = cgroup_memory
    @group.oom_kills = 1
    memory.expire_kills(100.0)
    @group.oom_kills = nil
    [110.0, 120.0].each { |now| memory.expire_kills(now) }
    refute killed?(memory)
    @group.oom_kills = 2
    memory.expire_kills(130.0)
    assert_equal [true, false], Array.new(2) { killed?(memory) }
  end

  test "matches no exit if the kernel counts no kills" do
    memory = cgroup_memory(oom_kills: nil)
    refute killed?(memory)
    memory.expire_kills(100.0)
    refute killed?(memory)
  end

  private

  def cgroup_memory(**facts)
    @group = Group.new(oom_kills: 0, **facts)
    events = Skep::Swarm::Runtime::EventBus.new
    events.subscribe { |event| @published << [event.name, event.level, event.facts] }
    Skep::Swarm::Memory::CgroupMemory.new(@group, events:)
  end

  def killed?(memory) = memory.oom?(Skep::Swarm::IPC::ExitStatus.new(nil, "KILL"))
end
