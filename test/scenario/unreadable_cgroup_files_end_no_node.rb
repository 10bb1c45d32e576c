# frozen_string_literal: true

# The files of the control group, and the kernel's counter of OOM kills, can't be read any more, as
# after the group was removed. The supervisor still measures nodes, replaces the node that exceeds
# its memory_limit and each that is killed, and reports no error of its own. When the files can be
# read again, it continues as before.
require_relative "scenario"

# The files can't be read while there is a file "unreadable".
UNREADABLE = <<~'RUBY'
  require "skep/os"
  require "skep/swarm"

  Skep::OS::Machine.prepend(Module.new do
    def read(path)
      return super unless path.match?(%r{\A(?:/sys/fs/cgroup/|/proc/vmstat|/proc/pressure)})
      return super unless File.exist?("#{ENV.fetch("SKEP_RUN_DIR")}/unreadable")

      raise [Errno::EACCES, Errno::ENOENT, Errno::ENODEV, Errno::EIO].sample, path
    end
  end)

  # They are read twice a second, not every ten seconds.
  Skep::Swarm::Memory::CgroupMemory.class_eval do
    remove_const(:EXPIRE_EVERY)
    const_set(:EXPIRE_EVERY, 0.5)
  end
RUBY

Scenario.play do
  load_path = File.expand_path("../../load_path", __dir__)
  File.write("#{directory}/plant.rb", "require #{load_path.inspect}\n#{UNREADABLE}")
  swarm = run_swarm(<<~'RUBY', before: "require \"#{directory}/plant.rb\"")
    Skep.swarm "group", nodes: 2, memory_limit: "100M", max_restarts: 1_000 do |swarm|
      swarm.work do |node|
        node.ready!
        until node.stopping?
          leak ||= "y" * (120 << 20) if File.exist?("#{__dir__}/grow") && node.id.zero?
          node.wait(0.05)
        end
      end
    end
  RUBY
  swarm.await("node_ready", times: 2)
  toggle = lambda do |name, on|
    file = File.join(swarm.directory, name)
    on ? File.write(file, "") : FileUtils.rm_f(file)
  end

  [true, false].each do |unreadable|
    toggle["unreadable", unreadable]
    swarm.follow_for(2) # four times the supervisor reads them
    swarm.kill(swarm.status("group")["nodes"][1]["pid"])
    died = swarm.await(GONE) { |one| one["node"] == 1 }
    must("report a kill by hand: #{died}") { died.values_at("signal", "reason") == ["KILL", nil] }
    swarm.await("node_ready") { |one| one["node"] == 1 }
    toggle["grow", true]
    swarm.await("node_over_limit")
    toggle["grow", false]
    swarm.await("node_replaced") { |one| one["reason"] == "memory_limit" }
    must("answer with the status") { swarm.status("group")["nodes"].size == 2 }
  end
  ours = %w[supervisor_error mold_died]
  bugs = swarm.events.select { |one| ours.include?(one["event"]) }
  must("have no error of its own: #{bugs.first}") { bugs.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
