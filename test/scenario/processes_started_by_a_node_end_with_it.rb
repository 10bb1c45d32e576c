# frozen_string_literal: true

# However a node ends, the processes that it has started end with it and not before: children,
# orphans of its group, processes in separate groups or sessions. None delays the report of its
# death, and none remains as a zombie. The same holds for the mold. Without the C extension skep
# ends those of the process group only.
require_relative "scenario"

SOURCE = <<~'RUBY'
  FOREVER = "sleep infinity"

  # Starts a child, an orphan, a child in a separate group, an orphan in a separate session, and a
  # forked child. All inherit the open descriptors.
  def start_some
    [spawn(FOREVER, close_others: false), `#{FOREVER} >/dev/null & echo $!`.to_i,
     spawn(FOREVER, pgroup: true, close_others: false),
     `setsid sh -c '#{FOREVER} >/dev/null & echo $!'`.to_i,
     fork { Signal.trap("TERM", "IGNORE"); IO.select(nil) }]
  end

  Skep.swarm "leaver", nodes: 2, max_restarts: 1_000_000, liveness_timeout: 8 do |swarm|
    swarm.preload { File.write("#{__dir__}/mold.#{$$}", start_some.join(" ")) }
    swarm.work do |node|
      some = start_some
      node.ready!
      node.event(:started, pids: some)
      node.wait until node.stopping?
      left = some.count { |pid| File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] != "Z" }
      node.event(:stopping, left:)
    end
  end
RUBY

# Of start_some.
IN_GROUP = [0, 1, 4].freeze
OUTSIDE = [2, 3].freeze

Scenario.play do
  ends_with_it = ->(pids) { Skep::OS.native? ? pids : pids.values_at(*IN_GROUP) }
  swarm = run_swarm(SOURCE)
  started = swarm.await("started", times: 2)
  harms = { "killed" => :KILL, "stopped" => :TERM, "forced" => :QUIT, "aborted" => :ABRT }
  harms.each do |what, signal|
    node, pid, pids = started.shift.values_at("node", "pid", "pids")
    swarm.kill(pid, signal)
    died = swarm.await(GONE) { |event| event["pid"] == pid }
    await_exit(ends_with_it[pids])
    must("report the right node when it is #{what}: #{died}") { died["node"] == node }
    started << swarm.await("started") { |event| event["node"] == node }
  end
  must("keep a node's processes until it ends") { swarm.await("stopping")["left"] == 5 }
  no_zombie(swarm, [swarm.pid])

  # A stopped mold ends nothing.
  stopped = swarm.await("mold_ready")["pid"]
  swarm.kill(stopped, :STOP)
  node, pid, pids = started.shift.values_at("node", "pid", "pids")
  swarm.kill(pid)
  await_exit(ends_with_it[pids])
  started << swarm.await("started") { |event| event["node"] == node }

  # Nodes of a dead mold become the supervisor's children.
  mold = swarm.await("mold_ready")["pid"]
  swarm.kill(mold)
  await_exit(ends_with_it[File.read("#{swarm.directory}/mold.#{mold}").split.map(&:to_i)])
  swarm.await("mold_ready")
  must("keep the processes of running nodes") do
    started.all? { |event| event["pids"].all? { |pid| File.exist?("/proc/#{pid}") } }
  end
  node, pid, pids = started.shift.values_at("node", "pid", "pids")
  swarm.kill(pid)
  await_exit(ends_with_it[pids])
  started << swarm.await("started") { |event| event["node"] == node }

  unless Skep::OS.native?
    all = swarm.events.filter_map { |event| event["pids"] }
    all += Dir["#{swarm.directory}/mold.*"].map { |path| File.read(path).split.map(&:to_i) }
    all.each { |pids| pids.values_at(*OUTSIDE).each { |pid| swarm.kill(pid) } }
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  await_exit(started.flat_map { |event| ends_with_it[event["pids"]] })
end
