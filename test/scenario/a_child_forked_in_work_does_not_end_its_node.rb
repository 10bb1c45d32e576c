# frozen_string_literal: true

# A child that the work forks without a block returns from the work, exits or raises. It ends like
# any forked Ruby process: it sends nothing to the supervisor, and runs no on_exit hook. The node
# that forked it continues.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "bare", nodes: 1, stop_timeout: 3, max_restarts: 100 do |swarm|
      swarm.on_exit { |node| File.write("\#{__dir__}/exit", "\#{Process.pid}\n", mode: "a") }
      swarm.work do |node|
        node.ready!
        ended = []
        pid = fork or next
        ended << Process.wait2(pid).last.exitstatus
        pid = fork or exit(3)
        ended << Process.wait2(pid).last.exitstatus
        pid = fork or raise(IOError, "in the forked process")
        ended << Process.wait2(pid).last.exitstatus
        pid = fork or next(node.event(:from_the_forked_process))
        Process.wait(pid)
        node.event(:forked, ended:)
        node.wait until node.stopping?
      end
    end
  RUBY
  pid = swarm.await("node_ready")["pid"]
  ended = swarm.await("forked")["ended"]
  must("let each child end as without skep, not #{ended}") { ended == [0, 3, 1] }
  state = swarm.status("bare")["nodes"].first["state"]
  must("keep the node ready, not #{state}") { state == "ready" }
  published = swarm.events.map { |event| event["event"] } & %w[from_the_forked_process node_failed]
  must("publish no event of a child: #{published}") { published.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  must("start one node only: #{swarm.nodes}") { swarm.nodes == [pid] }
  hooks = File.read("#{swarm.directory}/exit").split
  must("run on_exit only in the node: #{hooks}, not #{pid}") { hooks == [pid.to_s] }
end
