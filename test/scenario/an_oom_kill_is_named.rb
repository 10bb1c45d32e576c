# frozen_string_literal: true

# In a control group that is too small the kernel ends the node that takes most; its end is told as
# an OOM kill, and a kill by hand isn't. Skipped where no control group can be made.
require_relative "scenario"

# A control group with so much memory for the processes that enter it, of either version.
class SmallGroup
  ROOTS = { "/sys/fs/cgroup" => "memory.max", "/sys/fs/cgroup/memory" => "memory.limit_in_bytes" }
          .freeze

  attr_reader :directory

  def self.make(bytes)
    root, file = ROOTS.find { |path, _| File.exist?("#{path}/cgroup.procs") && memory?(path) }
    root && new("#{root}/skep-scenario-#{Process.pid}", file, bytes)
  rescue SystemCallError # not ours to make
    nil
  end

  # Does it count the memory of groups below?
  def self.memory?(root)
    File.exist?("#{root}/memory.limit_in_bytes") ||
      File.read("#{root}/cgroup.subtree_control").split.include?("memory")
  end

  def initialize(directory, file, bytes)
    @directory = directory
    Dir.mkdir(directory)
    File.write("#{directory}/#{file}", bytes.to_s)
    swap = "#{directory}/memory.swap.max"
    File.write(swap, "0") if File.exist?(swap)
  rescue SystemCallError
    Dir.rmdir(directory) if Dir.exist?(directory)
    raise
  end

  # Its processes may still be ending.
  def remove
    File.read("#{directory}/cgroup.procs").split.each { |pid| dismiss(pid) }
    Dir.rmdir(directory)
  end

  # For the process that is to enter it: a line of Ruby.
  def enter = "File.write(#{"#{directory}/cgroup.procs".inspect}, Process.pid.to_s)"

  private

  def dismiss(pid)
    File.write("#{File.dirname(directory)}/cgroup.procs", pid)
  rescue Errno::ESRCH # it has just ended
    nil
  end
end

Scenario.play do
  group = SmallGroup.make(200 << 20) or next puts("skipped: no control group can be made here")
  at_end { group.remove }
  swarm = run_swarm(<<~RUBY, before: group.enter)
    Skep.swarm "greedy", nodes: 2 do |swarm|
      swarm.work do |child|
        child.ready!
        first = !File.exist?("\#{__dir__}/eaten")
        if child.id.zero? && first
          File.write("\#{__dir__}/eaten", "")
          eaten = Array.new(100) { "y" * (4 << 20) }
        end
        child.wait until child.stopping?
      end
    end
  RUBY
  died = swarm.await("node_died")
  must("name the OOM kill: #{died}") do
    died["node"].zero? && died["signal"] == "KILL" && died["reason"] == "oom"
  end
  swarm.await("node_ready", times: 3)
  must("show it in status") do
    swarm.status("greedy")["nodes"][0]["last_exit"]["reason"] == "oom"
  end
  swarm.kill(swarm.status("greedy")["nodes"][1]["pid"])
  died = swarm.await("node_died")
  must("not name a kill by hand so: #{died}") { died["node"] == 1 && died["reason"].nil? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
