# frozen_string_literal: true

require "test_helper"
require "skep/os"
require "tmpdir"
require "fileutils"

class CgroupTest < Skep::TestCase
  Cgroup = Skep::OS::Cgroup
  private_constant :Cgroup

  V1 = { "memory.usage_in_bytes" => "5000\n", "memory.limit_in_bytes" => "9223372036854771712\n",
         "memory.stat" => "inactive_file 7\ntotal_inactive_file 1000\n",
         "memory.oom_control" => "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n" }.freeze
  V2 = { "memory.current" => "5000\n", "memory.max" => "max\n", "memory.high" => "max\n",
         "memory.stat" => "anon 4000\ninactive_file 1000\n",
         "memory.events" => "low 0\nhigh 0\nmax 9\noom 4\noom_kill 2\noom_group_kill 0\n",
         "memory.pressure" => "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n" \
                              "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n" }.freeze
  private_constant :V1, :V2

  def setup
    @root = Dir.mktmpdir("skep-cgroup")
    super
  end

  def teardown
    FileUtils.rm_rf(@root)
    super
  end

  test "reads a group of version 2" do
    group("v2/app", V2)
    group = find("0::/app\n", cgroup2: "v2")
    assert_equal [4000, 2, 1.5], [group.current, group.oom_kills, group.stalled]
    assert_nil group.limit
    assert_nil group.high
  end

  test "reads a group of version 1" do
    group("v1/app", V1)
    group = find("4:memory:/app\n3:cpu:/\n0::/\n", cgroup: "v1")
    assert_equal [4000, 3], [group.current, group.oom_kills]
    assert_nil group.limit
    assert_nil group.high
    assert_nil group.stalled
  end

  test "takes the least limit of the group and those above" do
    group("v2/pod", "memory.max" => "900\n", "memory.high" => "700\n")
    group("v2/pod/app", V2.merge("memory.max" => "1000\n"))
    group = find("0::/pod/app\n", cgroup2: "v2")
    assert_equal [900, 700], [group.limit, group.high]

    group("v1/pod", "memory.limit_in_bytes" => "900\n")
    group("v1/pod/app", V1)
    assert_equal 900, find("4:memory:/pod/app\n", cgroup: "v1").limit
  end

  test "takes the nearest group that counts memory" do
    group("v2/app", V2)
    group("v2/app/leaf", {})
    assert_equal "#{@root}/v2/app", find("0::/app/leaf\n", cgroup2: "v2").directory
  end

  test "prefers the version that counts memory" do
    group("v1/app", V1)
    group("v2", {})
    assert_equal 3, find("4:memory:/app\n0::/\n", cgroup2: "v2", cgroup: "v1").oom_kills
  end

  test "finds its group where only a part of the tree is mounted" do
    group("v2", V2)
    assert_equal "#{@root}/v2", find("0::/pod\n", root: "/pod", cgroup2: "v2").directory
    assert_equal "#{@root}/v2", find("0::/../pod\n", cgroup2: "v2").directory
  end

  test "is nil where nothing counts memory, and of no process" do
    group("v2", {})
    assert_nil find("0::/\n", cgroup2: "v2")
    assert_nil find("4:cpu:/\n")
    assert_nil Cgroup.of(42, proc: @root)
  end

  test "knows nothing of a group that has gone" do
    group("v2/app", V2)
    group = find("0::/app\n", cgroup2: "v2")
    FileUtils.rm_rf("#{@root}/v2")
    assert_nil group.current
    assert_nil group.oom_kills
    assert_nil group.stalled
    assert_nil group.limit
  end

  test "counts the whole machine's kills" do
    File.write("#{@root}/vmstat", "pgfault 1\noom_kill 12\n")
    assert_equal 12, Cgroup.oom_kills(vmstat: "#{@root}/vmstat")
    assert_nil Cgroup.oom_kills(vmstat: "#{@root}/none")
  end

  test "reads this process' group where there is one" do
    group = Cgroup.of
    skip "no group here counts memory" unless group
    assert_kind_of Integer, group.current
    assert_kind_of Integer, group.oom_kills
  end

  private

  def group(path, files)
    FileUtils.mkdir_p("#{@root}/#{path}")
    files.each { |name, text| File.write("#{@root}/#{path}/#{name}", text) }
  end

  # mounts: by type, where below the root.
  def find(groups, root: "/", **mounts)
    %w[41 self].each { |name| FileUtils.mkdir_p("#{@root}/#{name}") }
    File.write("#{@root}/41/cgroup", groups)
    lines = mounts.map do |type, path|
      "30 24 0:26 #{root} #{@root}/#{path} rw,nosuid shared:9 - #{type} #{type} rw,memory\n"
    end
    File.write("#{@root}/self/mountinfo", lines.join)
    Cgroup.of(41, proc: @root)
  end
end
