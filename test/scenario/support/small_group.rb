# frozen_string_literal: true

# A control group, version 1 or 2, with a memory limit for the processes that enter it.
class SmallGroup
  ROOTS = { "/sys/fs/cgroup" => "memory.max", "/sys/fs/cgroup/memory" => "memory.limit_in_bytes" }
          .freeze

  attr_reader :directory

  def self.make(bytes)
    root, file = ROOTS.find { |path, _| File.exist?("#{path}/cgroup.procs") && memory?(path) }
    root && new("#{root}/skep-scenario-#{Process.pid}", file, bytes)
  rescue SystemCallError # no permission
    nil
  end

  # Returns true if the group counts the memory of its subgroups.
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

  # Its processes may still be exiting.
  def remove
    File.read("#{directory}/cgroup.procs").split.each { |pid| dismiss(pid) }
    Dir.rmdir(directory)
  end

  # Returns a line of Ruby for the process that enters the group.
  def enter = "File.write(#{"#{directory}/cgroup.procs".inspect}, Process.pid.to_s)"

  private

  def dismiss(pid)
    File.write("#{File.dirname(directory)}/cgroup.procs", pid)
  rescue Errno::ESRCH # it has just ended
    nil
  end
end
