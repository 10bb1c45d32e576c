# frozen_string_literal: true

# However a node ends, what it has started ends with it and not before: children, orphans of its
# group, those in a group or a session of their own. None of them hides its death, none stays behind
# as a zombie. So it is with the mold.
require_relative "scenario"

SOURCE = <<~'RUBY'
  FOREVER = "sleep infinity"

  # A child, an orphan, a child in a group of its own, an orphan in a session of its own, and a
  # fork that was never executed; they have all that we have open.
  def start_some
    [spawn(FOREVER, close_others: false), `#{FOREVER} >/dev/null & echo $!`.to_i,
     spawn(FOREVER, pgroup: true, close_others: false),
     `setsid sh -c '#{FOREVER} >/dev/null & echo $!'`.to_i,
     fork { Signal.trap("TERM", "IGNORE"); IO.select(nil) }]
  end

  Skep.swarm "leaver", nodes: 2, max_restarts: 1_000_000 do |swarm|
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

Scenario.play do
  swarm = run_swarm(SOURCE)
  started = swarm.await("started", times: 2)
  harms = { "killed" => :KILL, "stopped" => :TERM, "forced" => :QUIT, "aborted" => :ABRT }
  harms.each do |what, signal|
    node, pid, pids = started.shift.values_at("node", "pid", "pids")
    swarm.kill(pid, signal)
    died = swarm.await(GONE) { |event| event["pid"] == pid }
    gone(pids)
    must("count it right when #{what}: #{died}") { died["node"] == node }
    started << swarm.await("started") { |event| event["node"] == node }
  end
  must("leave a node's own alone until it ends") { swarm.await("stopping")["left"] == 5 }
  no_zombie(swarm, [swarm.pid])

  # A node that has fallen to the supervisor.
  mold = swarm.await("mold_ready")["pid"]
  swarm.kill(mold)
  gone(File.read("#{swarm.directory}/mold.#{mold}").split.map(&:to_i))
  swarm.await("mold_ready")
  must("keep those of living nodes") do
    started.all? { |event| event["pids"].all? { |pid| File.exist?("/proc/#{pid}") } }
  end
  node, pid, pids = started.shift.values_at("node", "pid", "pids")
  swarm.kill(pid)
  gone(pids)
  started << swarm.await("started") { |event| event["node"] == node }

  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  gone(started.flat_map { |event| event["pids"] })
end
