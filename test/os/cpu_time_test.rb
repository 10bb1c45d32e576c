# frozen_string_literal: true

require "test_helper"
require "skep/os"

class CpuTimeTest < Skep::TestCase
  CpuTime = Skep::OS::CpuTime
  private_constant :CpuTime

  test "count is the affinity's, and no more than the quota rounded up" do
    { nil => 4, 0.2 => 1, 1.0 => 1, 1.5 => 2, 3.01 => 4, 64.0 => 4 }.each do |quota, count|
      assert_equal count, CpuTime.count(affinity: 4, quota:), quota.inspect
    end
  end

  test "count goes by this process' affinity" do
    program = "require 'skep/os'; p Skep::OS::CpuTime.count"
    taskset = ["taskset", "-c", File.read("/proc/self/status")[/^Cpus_allowed_list:\s+(\d+)/, 1]]
    out, = run_command({}, *taskset, RbConfig.ruby, "-Ilib", "-e", program, timeout: 10)
    assert_equal "1\n", out
  end

  test "seconds of this process only grow" do
    before = CpuTime.seconds(Process.pid)
    assert_operator before, :>, 0
    assert_operator CpuTime.seconds(Process.pid), :>=, before
  end
end
