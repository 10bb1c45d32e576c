# frozen_string_literal: true

# The blocks of `on_error` hang, or call `exit`: the exception that they were called for is in the
# log all the same, and the node counts as failed, not as one whose work has ended.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "hooked", nodes: 3, max_restarts: 1_000_000, liveness_timeout: 2 do |swarm|
      swarm.on_error { |_error, context| context[:node] == 2 ? IO.pipe.first.read : exit(0) }
      swarm.on_boot { |node| raise "no database" if node.id == 1 }
      swarm.on(:node_failed) { exit }
      swarm.work do |node|
        node.ready!
        raise "the work of node \#{node.id}"
      end
    end
  RUBY
  failed = lambda do |node, error|
    swarm.await("node_failed") { |one| one["node"] == node && one["error"].include?(error) }
  end
  failed[0, "RuntimeError: the work of node 0"]
  failed[1, "RuntimeError: no database"]
  failed[2, "RuntimeError: the work of node 2"]
  must("report a hook that exits") do
    swarm.await("hook_failed") { |one| one["hook"] == "on_error" }["error"] == "SystemExit: exit"
  end
  died = swarm.await("node_died") { |one| one["node"].zero? }
  must("count the node as failed: #{died}") { died["exit_status"] == 1 }
  swarm.await("hook_failed") { |one| one["hook"] == "on(node_failed)" }
  swarm.await("node_hung") { |one| one["node"] == 2 }
  must("keep the helper") do
    swarm.events.none? { |one| GONE.include?(one["event"]) && one["node"] == "helper" }
  end
  swarm.stop

  inline = run_swarm(<<~RUBY, arguments: ["--inline"])
    Skep.swarm "inline" do |swarm|
      swarm.on_error { exit!(9) }
      swarm.work { raise "the work" }
    end
  RUBY
  must("log it in the foreground, too") do
    inline.await("node_failed")["error"] == "RuntimeError: the work"
  end
  inline.wait
end
