# frozen_string_literal: true

# TSTP: every node takes no more work, and keeps running. `skep resume` ends that; restart and
# reload don't, and say so.
# TTIN: the log has the backtraces of every thread of every node.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "quiet", nodes: 2 do |swarm|
      swarm.work do |node|
        begun = Queue.new # a thread that hasn't begun has no backtrace
        Thread.new { begun << true && IO.select(nil, nil, nil, 3600) }.name = "side"
        begun.pop
        node.ready!
        node.wait until node.quiet?
        node.event(:became_quiet)
        node.wait while node.quiet? && !node.stopping?
        node.event(:took_work) unless node.stopping?
        node.wait until node.stopping?
      end
    end
  RUBY
  swarm.await("node_ready", times: 2)
  swarm.signal(:TTIN)
  traces = swarm.await("node_backtraces", times: 2)
  must("log every thread: #{traces}") do
    traces.all? do |event|
      (event["threads"].map { |thread| thread["name"] } & %w[main side skep.control]).size == 3
    end
  end
  must("log a backtrace of each thread") do
    traces.all? { |event| event["threads"].all? { |thread| thread["backtrace"].any? } }
  end
  swarm.signal(:TSTP)
  swarm.await("became_quiet", times: 2)
  must("show quiet nodes in the status") do
    swarm.status("quiet")["nodes"].map { |node| node["state"] } == %w[quiet quiet]
  end
  stays = "the swarm stays quiet: `skep resume` lets nodes take new work again\n"
  must("say after a restart that the swarm stays quiet") do
    swarm.output_of("restart", "quiet").end_with?(stays)
  end
  must("say so after a reload") { swarm.output_of("reload", "quiet").end_with?(stays) }
  must("keep nodes quiet") do
    swarm.status("quiet")["nodes"].map { |node| node["state"] } == %w[quiet quiet]
  end
  must("take new work after a resume") do
    swarm.output_of("resume", "quiet") == "resumed: nodes take new work\n"
  end
  swarm.await("swarm_resumed")
  swarm.await("took_work", times: 2)
  must("show ready nodes in the status") do
    status = swarm.status("quiet")
    [status["state"], *status["nodes"].map { |node| node["state"] }] == %w[running ready ready]
  end
  must("say that a resume had nothing to do") do
    swarm.output_of("resume", "quiet") == "the swarm was not quiet\n"
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
