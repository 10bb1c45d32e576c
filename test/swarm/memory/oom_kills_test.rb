# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class OomKillsTest < Skep::TestCase
  Group = Struct.new(:oom_kills)
  private_constant :Group

  def setup
    @group = Group.new(7)
    @kills = Skep::Swarm::Memory::OomKills.new(@group)
    super
  end

  test "considers a SIGKILL an OOM kill if the kernel has counted one" do
    refute killed?
    @group.oom_kills = 8
    assert killed?
  end

  test "matches as many exits as the kernel has counted kills" do
    @group.oom_kills = 9
    assert_equal [true, true, false], Array.new(3) { killed? }
  end

  test "matches no exit but SIGKILL" do
    @group.oom_kills = 8
    refute @kills.match?(Skep::Swarm::IPC::ExitStatus.new(nil, "TERM"))
    refute @kills.match?(Skep::Swarm::IPC::ExitStatus.new(1, nil))
    assert killed?
  end

  test "drops an unmatched kill at the second expire, not at the first" do
    @group.oom_kills = 8
    @kills.expire
    assert killed?
    @group.oom_kills = 9
    2.times { @kills.expire }
    refute killed?
  end

  test "a counter that can't be read for a while changes nothing" do
    @group.oom_kills = 8
    @kills.expire
    @group.oom_kills = nil
    2.times { @kills.expire }
    refute killed?
    @group.oom_kills = 9
    @kills.expire
    assert_equal [true, false], Array.new(2) { killed? }
  end

  test "matches nothing if the kernel counts no kills, or stops counting them" do
    @group.oom_kills = nil
    refute killed?
    refute Skep::Swarm::Memory::OomKills.new(@group).tap(&:expire).match?(exit_by_kill)
  end

  private

  def killed? = @kills.match?(exit_by_kill)
  def exit_by_kill = Skep::Swarm::IPC::ExitStatus.new(nil, "KILL")
end
