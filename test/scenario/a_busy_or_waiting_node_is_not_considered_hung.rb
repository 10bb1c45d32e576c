# frozen_string_literal: true

# A node is not considered hung if it waits for work, if its pieces of work are shorter than
# liveness_timeout, if it has declared a long job (or two, nested or at the same time), or if it is
# exiting.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "silent", nodes: 6, liveness_timeout: 1, kill_timeout: 1, stop_timeout: 20,
                        max_restarts: 100 do |swarm|
    silent = ->(seconds) { IO.select(nil, nil, nil, seconds) }
    swarm.on_exit { |node| silent.call(2.5) if node.id == 5 }
    swarm.work do |node|
      first = !File.exist?("\#{__dir__}/again\#{node.id}")
      File.write("\#{__dir__}/again\#{node.id}", "")
      node.ready!
      case first && node.id
      when 0 then node.wait(2.5)
      when 1 # pieces of work, with waits between
        3.times do
          node.wait(0.7)
          silent.call(0.7)
        end
      when 2 then node.busy(for: 60) { node.busy(for: 0.1) { }; silent.call(2.5) }
      when 3
        node.busy(for: 60)
        node.beat
        silent.call(2.5)
      when 4 # two at a time: the end of one job doesn't end the other
        Thread.new { node.busy(for: 60) { silent.call(0.2) } }
        node.busy(for: 60) { silent.call(2.5) }
      when 5 then node.wait until node.stopping?
      end
      node.event(:done)
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  pids = swarm.await("node_ready", times: 6).to_h { |event| [event["node"], event["pid"]] }
  swarm.kill(pids[5], :TERM) # stopped by a foreign TERM; its on_exit takes long
  6.times { |node| swarm.await("done") { |event| event["node"] == node } }
  exited = swarm.await(GONE)
  must("let the stopped node exit: #{exited}") do
    exited.values_at("node", "exit_status", "reason") == [5, 0, nil]
  end
  swarm.await("node_ready")
  status = swarm.stop
  hung = swarm.events.select { |event| event["event"] == "node_hung" }
  must("report no node as hung: #{hung}") { hung.empty? }
  must("stop with 0: #{status}") { status.exitstatus.zero? }
end
