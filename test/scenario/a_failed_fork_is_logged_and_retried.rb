# frozen_string_literal: true

# A pids limit makes fork(2) fail with EAGAIN. The failure is logged at once and the fork is tried
# again, ever less often: it is one line for both slots, and no death of a node. Running nodes
# continue, and dead ones are reaped. Without the limit all slots are filled again. As root, a pids
# cgroup sets the limit as well. Without the C extension Ruby itself retries the fork each second,
# which blocks the mold or the supervisor until the limit is lifted, and a mold may be killed as
# hung meanwhile. Then all slots are filled.
require_relative "scenario"

# Limits the processes of a user, by prlimit(1).
class ByUser
  NOBODY = 65_534

  # Root has no limit, so the supervisor becomes another user.
  def before
    return unless Process.uid.zero?

    "File.chown(#{NOBODY}, nil, ENV['SKEP_RUN_DIR']); Process::UID.change_privilege(#{NOBODY})"
  end

  def hold(pids) = @pids = pids
  def shut = limit(0)
  def lift = limit(Process.getrlimit(:NPROC).last)
  def close = nil

  private

  def limit(most)
    @pids.each do |pid|
      Process.wait(fork do
        Process::UID.change_privilege(NOBODY) if Process.uid.zero?
        exec("prlimit", "--pid", pid.to_s, "--nproc=#{most}:")
      end)
      $?.success? || !File.exist?("/proc/#{pid}") or
        raise Scenario::Failed, "prlimit can't limit process #{pid}"
    end
  end
end

# Limits the processes of a pids cgroup, version 2 or 1.
class ByCgroup
  ROOTS = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"].freeze

  def self.possible
    ROOTS.each do |root|
      path = "#{root}/skep-scenario-#{Process.pid}"
      Dir.mkdir(path)
      return new(path) if File.exist?("#{path}/pids.max")

      Dir.rmdir(path)
    rescue SystemCallError # no such controller, or no permission
      next
    end
    nil
  end

  def initialize(path) = @path = path
  def before = "File.write(#{"#{@path}/cgroup.procs".dump}, Process.pid.to_s)"
  def hold(_pids) = nil
  def shut = File.write("#{@path}/pids.max", "0")
  def lift = File.write("#{@path}/pids.max", "max")

  def close
    Dir.rmdir(@path)
  rescue Errno::EBUSY # after a failure: its processes are still ending
    nil
  end
end

Scenario.play do
  lift_and_fill = lambda do |limit, swarm, pid|
    swarm.await(GONE, times: 2)
    limit.lift
    swarm.await("node_ready", times: 2)
    left = swarm.status("idle")["nodes"].map { |node| node["pid"] }
    must("leave the third node alone") { left.include?(pid) }
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
    swarm.close
  end

  refuse_and_lift = lambda do |limit|
    swarm = run_swarm(IDLE, before: limit.before, skep: public_skep)
    mold = swarm.await("mold_ready")["pid"]
    pids = swarm.await("node_ready", times: 3).map { |event| event["pid"] }
    kill_preforked(swarm, mold)
    limit.hold([mold, swarm.pid])
    limit.shut
    swarm.kill(pids[0])
    swarm.kill(pids[1])
    next lift_and_fill.call(limit, swarm, pids[2]) unless Skep::OS.native?

    refused = swarm.await("fork_failed", times: 4)
    must("name the system call: #{refused.first}") do
      refused.all? { |event| event["error"].include?("fork(2)") }
    end
    must("try less and less often: #{refused}") do
      refused.map { |event| event["retry_in"] } == [0.1, 0.2, 0.4, 0.8]
    end
    nodes = swarm.status("idle")["nodes"]
    must("leave the third node alone") { nodes.any? { |node| node["pid"] == pids[2] } }
    must("count no death at boot: #{nodes}") { nodes.all? { |node| node["deaths"]["boot"] == 0 } }
    no_zombie(swarm, [mold, swarm.pid])
    limit.lift
    swarm.await("node_ready", times: 2)
    must("keep the mold") { swarm.events.none? { |event| event["event"] == "mold_died" } }

    limit.hold([swarm.pid])
    limit.shut
    swarm.kill(mold)
    swarm.await("fork_failed", times: 2) { |event| event["node"].nil? }
    must("answer a status request meanwhile") { swarm.status("idle")["nodes"].size == 3 }
    limit.lift
    swarm.await("mold_ready")
    swarm.kill(pids[2])
    swarm.await("node_ready")
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
    swarm.close
  ensure
    limit.close
  end

  refuse_and_lift.call(ByUser.new)
  cgroup = Process.uid.zero? && ByCgroup.possible
  cgroup ? refuse_and_lift.call(cgroup) : missing("root and a pids cgroup, for the second half")
end
