# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class CgroupMemoryTest < Skep::TestCase
  Group = Struct.new(:limit, :high, :current, :oom_kills, :stalled, keyword_init: true)
  # A machine whose processes are stalled more each time that one looks.
  class Stalled < Skep::OS::Machine
    def read(path)
      return super unless path == "/proc/pressure/memory"

      "some avg10=0.00 total=#{@microseconds = @microseconds.to_i + 100_000_000}"
    end
  end
  private_constant :Group, :Stalled

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

  test "publishes memory_pressure, and checks it at most every ten seconds" do
    memory = cgroup_memory(limit: 1000, current: 990)
    3.times { |second| memory.check(100.0 + second) }
    assert_equal [[:memory_pressure, :warn]], @published.map { |event| event.first(2) }
    @group.current = 100
    memory.check(110.0)
    @group.current = 990
    memory.check(111.0)
    memory.check(120.0)
    assert_equal 2, @published.size
  end

  test "a pressure of the control group that can't be read once isn't taken from the machine" do
    Skep::OS.run_on(Stalled.new) do
      memory = cgroup_memory(limit: nil)
      [0.0, nil, 0.1, nil, 0.2].each_with_index do |stalled, index|
        @group.stalled = stalled
        memory.check(100.0 + (10 * index))
      end
      assert_empty @published
    end
  end

  test "oom? returns true once for each OOM kill" do
    memory = cgroup_memory(oom_kills: 1)
    @group.oom_kills = 2
    assert memory.oom?(Skep::Swarm::IPC::ExitStatus.new(nil, "KILL"))
    refute memory.oom?(Skep::Swarm::IPC::ExitStatus.new(nil, "KILL"))
  end

  private

  def cgroup_memory(**facts)
    @group = Group.new(stalled: 0.0, oom_kills: 0, **facts)
    events = Skep::Swarm::Runtime::EventBus.new
    events.subscribe { |event| @published << [event.name, event.level, event.facts] }
    Skep::Swarm::Memory::CgroupMemory.new(@group, events:)
  end
end
