# frozen_string_literal: true

require "test_helper"
require "skep/os"
require "tmpdir"
require "fileutils"

class CgroupTest < Skep::TestCase
  Cgroup = Skep::OS::Cgroup
  private_constant :Cgroup

  V1 = { "memory.usage_in_bytes" => "5000\n", "memory.limit_in_bytes" => "9223372036854771712\n",
         "memory.oom_control" => "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n" }.freeze
  V2 = { "memory.current" => "5000\n", "memory.max" => "max\n", "memory.high" => "max\n",
         "memory.events" => "low 0\nhigh 0\nmax 9\noom 4\noom_kill 2\noom_group_kill 0\n" }.freeze
  private_constant :V1, :V2

  def setup
    @root = Dir.mktmpdir("skep-cgroup")
    super
  end

  def teardown
    FileUtils.rm_rf(@root)
    super
  end

  test "processors is the affinity's count, and no more than the quota rounded up" do
    { nil => 4, 0.2 => 1, 1.0 => 1, 1.5 => 2, 3.01 => 4, 64.0 => 4 }.each do |quota, count|
      assert_equal count, Cgroup.processors(affinity: 4, quota:), quota.inspect
    end
  end

  test "processors_from names the quota only where it lowers the affinity's count" do
    { nil => "affinity", 1.5 => "cpu_quota", 3.01 => "affinity", 64.0 => "affinity" }
      .each do |quota, limit|
      assert_equal limit, Cgroup.processors_from(affinity: 4, quota:), quota.inspect
    end
  end

  test "processors follows this process' affinity" do
    program = "require 'skep/os'; p Skep::OS::Cgroup.processors"
    taskset = ["taskset", "-c", File.read("/proc/self/status")[/^Cpus_allowed_list:\s+(\d+)/, 1]]
    out, = run_command({}, *taskset, RbConfig.ruby, "-r./load_path", "-e", program, timeout: 10)
    assert_equal "1\n", out
  end

  test "reads a group of version 2" do
    group("v2/app", V2)
    group = find("0::/app\n", cgroup2: "v2")
    assert_equal 2, group.oom_kills
    assert_nil group.limit
    assert_nil group.high
  end

  test "reads a group of version 1" do
    group("v1/app", V1)
    group = find("4:memory:/app\n3:cpu:/\n0::/\n", cgroup: "v1")
    assert_equal 3, group.oom_kills
    assert_nil group.limit
    assert_nil group.high
  end

  test "limit is the least of the group's and its ancestors'" do
    group("v2/pod", "memory.max" => "900\n", "memory.high" => "700\n")
    group("v2/pod/app", V2.merge("memory.max" => "1000\n"))
    group = find("0::/pod/app\n", cgroup2: "v2")
    assert_equal [900, 700], [group.limit, group.high]

    group("v1/pod", "memory.limit_in_bytes" => "900\n")
    group("v1/pod/app", V1)
    assert_equal 900, find("4:memory:/pod/app\n", cgroup: "v1").limit
  end

  test "finds the nearest group that counts memory" do
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

  test "of returns nil if no group counts memory, or for an unknown process" do
    group("v2", {})
    assert_nil find("0::/\n", cgroup2: "v2")
    assert_nil find("4:cpu:/\n")
    assert_nil Cgroup.of(42, proc: @root)
  end

  test "returns nil for the values of a removed group" do
    group("v2/app", V2)
    group = find("0::/app\n", cgroup2: "v2")
    FileUtils.rm_rf("#{@root}/v2")
    assert_nil group.oom_kills
    assert_nil group.limit
  end

  test "cpu_quota is the least of the group's and its ancestors', in processors" do
    group("v2/pod", "cpu.max" => "150000 100000\n")
    group("v2/pod/app", "cpu.max" => "max 100000\n")
    assert_equal 1.5, quota("0::/pod/app\n", cgroup2: "v2")
    group("v2/pod/app", "cpu.max" => "20000 100000\n")
    assert_equal 0.2, quota("0::/pod/app\n", cgroup2: "v2")

    group("v1/pod", "cpu.cfs_quota_us" => "250000\n", "cpu.cfs_period_us" => "50000\n")
    group("v1/pod/app", "cpu.cfs_quota_us" => "-1\n", "cpu.cfs_period_us" => "100000\n")
    assert_equal 5.0, quota("7:cpu,cpuacct:/pod/app\n0::/\n", cgroup: "v1", cgroup2: "v2")
  end

  test "cpu_quota is the lower one if both versions have a quota" do
    group("v2/app", "cpu.max" => "300000 100000\n")
    group("v1/app", "cpu.cfs_quota_us" => "200000\n", "cpu.cfs_period_us" => "100000\n")
    assert_equal 2.0, quota("3:cpu:/app\n0::/app\n", cgroup: "v1", cgroup2: "v2")
  end

  test "cpu_quota finds the group where only a part of the tree is mounted" do
    group("v2", "cpu.max" => "400000 100000\n")
    assert_equal 4.0, quota("0::/pod\n", root: "/pod", cgroup2: "v2")
    assert_equal 4.0, quota("0::/\n", cgroup2: "v2")
  end

  test "cpu_quota is nil without a quota, group or controller, and for invalid values" do
    ["max 100000\n", "0 100000\n", "100000 0\n", "100000\n", "a b\n", ""].each do |text|
      group("v2/app", "cpu.max" => text)
      assert_nil quota("0::/app\n", cgroup2: "v2"), text.inspect
    end
    group("v1/app", "cpu.cfs_quota_us" => "-1\n", "cpu.cfs_period_us" => "100000\n")
    assert_nil quota("3:cpu:/app\n", cgroup: "v1")
    assert_nil quota("3:cpu:/gone\n", cgroup: "v1")
    assert_nil quota("3:memory:/app\n", cgroup: "v1")
    assert_nil quota("")
    assert_nil Cgroup.cpu_quota(proc: "#{@root}/none")
  end

  test "cpu_quota follows a real group that the process is moved to" do
    within_quota("150000", "100000") do |place|
      out, err, = run_program(<<~RUBY)
        require "skep"
        File.write("#{place}/cgroup.procs", Process.pid.to_s)
        config = Skep::Swarm::Definition::Config.new("a", {})
        puts [Skep::OS::Cgroup.cpu_quota, Skep::OS::Cgroup.processors, config.nodes,
              config.nodes_from].inspect
      RUBY
      count = [2, Etc.nprocessors].min
      from = count < Etc.nprocessors ? "cpu_quota" : "affinity"
      assert_equal ["[1.5, #{count}, #{count}, #{from.inspect}]\n", ""], [out, err]
    end
    within_quota("20000", "100000") do |place|
      out, = run_program(<<~RUBY)
        require "skep/work"
        File.write("#{place}/cgroup.procs", Process.pid.to_s)
        p Skep.map(1..20) { Process.pid }.uniq.size
      RUBY
      assert_equal "1\n", out
    end
  end

  test "oom_kills counts the kills of the whole machine" do
    File.write("#{@root}/vmstat", "pgfault 1\noom_kill 12\n")
    assert_equal 12, Cgroup.oom_kills(vmstat: "#{@root}/vmstat")
    assert_nil Cgroup.oom_kills(vmstat: "#{@root}/none")
  end

  test "reads this process' group, if it has one" do
    group = Cgroup.of
    skip "no group here counts memory" unless group
    assert_kind_of Integer, group.oom_kills
  end

  private

  def group(path, files)
    FileUtils.mkdir_p("#{@root}/#{path}")
    files.each { |name, text| File.write("#{@root}/#{path}/#{name}", text) }
  end

  # mounts: by type, the folder below @root.
  def find(groups, root: "/", **mounts)
    proc_with(41, groups, root, mounts, "memory")
    Cgroup.of(41, proc: @root)
  end

  def quota(groups, root: "/", **mounts)
    proc_with("self", groups, root, mounts, "cpu,cpuacct")
    Cgroup.cpu_quota(proc: @root)
  end

  def proc_with(pid, groups, root, mounts, controllers)
    [pid, "self"].each { |name| FileUtils.mkdir_p("#{@root}/#{name}") }
    File.write("#{@root}/#{pid}/cgroup", groups)
    lines = mounts.map do |type, path|
      "30 24 0:26 #{root} #{@root}/#{path} rw,nosuid shared:9 - #{type} #{type} rw," \
        "#{controllers}\n"
    end
    File.write("#{@root}/self/mountinfo", lines.join)
  end

  # Yields a group below this process' own that has this quota, and removes it afterwards.
  def within_quota(quota, period)
    place = real_group or skip "it needs root, and a cgroup hierarchy with the cpu controller"
    if File.exist?("#{place}/cpu.max")
      File.write("#{place}/cpu.max", "#{quota} #{period}")
    else
      File.write("#{place}/cpu.cfs_period_us", period)
      File.write("#{place}/cpu.cfs_quota_us", quota)
    end
    yield place
  ensure
    Dir.rmdir(place) if place
  end

  def real_group
    versions = %i[V1 V2].map { |name| Cgroup.send(:const_get, name) }
    versions.each do |version|
      directory = Cgroup.send(:directories, version, "self", "cpu", "/proc").first or next
      place = "#{directory}/skep-test-#{Process.pid}"
      Dir.mkdir(place)
      return place if Dir.glob("#{place}/cpu.{max,cfs_quota_us}").any?

      Dir.rmdir(place)
    rescue SystemCallError # no permission, or no such controller
      next
    end
    nil
  end
end
