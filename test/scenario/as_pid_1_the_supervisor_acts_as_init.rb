# frozen_string_literal: true

# As pid 1 of a container the supervisor handles signals from the start and reaps orphans of other
# programs. At its end it kills the rest of them; if it is killed, no process remains. unshare(1)
# makes the container, which needs root.
require_relative "scenario"

UNSHARE = %w[unshare --pid --fork --kill-child --mount-proc].freeze

# The foreign processes are orphans in separate sessions, without the variable that marks a node's.
SOURCE = <<~'RUBY'
  Skep.swarm "init", nodes: 2 do |swarm|
    swarm.work do |node|
      init = "/proc/1/task/1/children"
      if node.id.zero?
        ENV.delete("SKEP_OWNER_PID")
        40.times { system("setsid sh -c 'true & true &' &") }
        stays = `setsid sh -c 'sleep infinity >/dev/null & echo $!'`.to_i
        node.event(:orphan, adopted: File.read(init).split.map(&:to_i).include?(stays))
      end
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  unless Process.uid.zero? && system(*UNSHARE, "true", err: File::NULL)
    missing "root and a PID namespace"
  end

  children = ->(pid) { File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i) }
  init_of = ->(swarm) { children.call(swarm.pid).first }
  start = lambda do
    run_swarm(SOURCE, under: UNSHARE).tap { |swarm| swarm.await("node_ready", times: 2) }
  end
  inside = lambda do |init|
    Dir.glob("/proc/[0-9]*").filter_map do |path|
      Integer(File.basename(path)) if File.readlink("#{path}/ns/pid") == init
    rescue Errno::ENOENT, Errno::EACCES # has exited, or is hidden
      next
    end
  end

  { TERM: 0, INT: 0, QUIT: 2, KILL: nil }.each do |signal, code|
    swarm = start.call
    init = init_of.call(swarm)
    must("be pid 1") { File.read("/proc/#{init}/status")[/^NSpid:.*\t(\d+)$/, 1] == "1" }
    must("adopt orphans") { swarm.await("orphan")["adopted"] }
    no_zombie(swarm, [init])
    all = []
    swarm.follow("it has supervisor, mold, nodes, one forked ahead, and the orphan") do
      (all = inside.call(File.readlink("/proc/#{init}/ns/pid"))).size == 6
    end
    swarm.kill(init, signal)
    status = swarm.wait
    must("end with #{code} by #{signal} (#{status.inspect}); #{swarm.account}") do
      code ? status.exitstatus == code : !status.success?
    end
    await_exit(all)
  end

  slow = SOURCE.sub("    swarm.work", "    swarm.preload { IO.select(nil) }\n    swarm.work")
  swarm = run_swarm(slow, under: UNSHARE)
  swarm.await("swarm_started")
  swarm.kill(init_of.call(swarm), :TERM)
  must("stop with 0 on TERM while it boots; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
