# frozen_string_literal: true

# The kernel's OOM killer prefers nodes and the processes that they start over the mold, and the
# mold over the supervisor. The supervisor's own oom_score_adj stays unchanged. This needs no root.
require_relative "scenario"

Scenario.play do
  missing "a system with oom_score_adj" unless Skep::OS::Memory::OomScore.adjustment

  adjustment = ->(pid) { File.read("/proc/#{pid}/oom_score_adj").to_i }
  source = <<~'RUBY'
    Skep.swarm "oom", nodes: 1 do |swarm|
      swarm.on(:node_ready) { |_| nil }
      swarm.work do |node|
        node.event(:here, started: spawn("sleep infinity"))
        node.ready!
        node.wait until node.stopping?
      end
    end
  RUBY
  check = lambda do |expected, **how|
    swarm = run_swarm(source, **how)
    here = swarm.await("here")
    helper = swarm.await("node_ready") { |event| event["node"] == "helper" }
    mold = swarm.await("mold_ready")["pid"]
    found = [swarm.pid, mold, here["pid"], here["started"], helper["pid"]].map(&adjustment)
    must("set oom_score_adj to #{expected}, not #{found}") { found == expected }
    swarm.kill(mold)
    swarm.await("mold_ready").then { |event| mold = event["pid"] }
    must("set it in the next mold, too") { adjustment.call(mold) == expected[1] }
    must("stop with 0") { swarm.stop.exitstatus == 0 }
  end

  own = Skep::OS::Memory::OomScore.adjustment
  at = ->(base) { [0, 100, 200, 200, 200].map { |more| [base + more, 1000].min } }
  check.call(at.call(own))
  check.call(at.call(own + 850), before: "File.write('/proc/self/oom_score_adj', '#{own + 850}')")
end
