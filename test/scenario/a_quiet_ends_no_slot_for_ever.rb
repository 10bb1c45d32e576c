# frozen_string_literal: true

# What ends its work because of `skep quiet` isn't done: each slot has a process again after the
# resume, whatever `restart` is. A loop ends at the quiet, a server that can't take new work again
# (Skep::Guest) at the resume, also if that follows at once. Work that ends well meanwhile, and was
# never told of the quiet, is done.
require_relative "scenario"

SOURCE = <<~'RUBY'
  require "skep/guest"

  class Server < Skep::Guest
    def work_name = "server"
    def start(node, _configure) = nil
    def stop(node) = nil
    def quieten = true
  end

  Skep.swarm "loops", stop_timeout: 20 do |swarm|
    %i[on_failure never].each do |restart|
      swarm.work("loop_#{restart}", nodes: 1, restart:) { |node| node.beat until node.wait(0.1) }
      swarm.work("server_#{restart}", Server.new(threads: 1), nodes: 1, restart:)
    end
    swarm.work("finite", nodes: 1, restart: :on_failure) do |node|
      node.ready!
      IO.select(nil, nil, nil, 0.01) until File.exist?("#{__dir__}/over")
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  states = lambda do
    swarm.status("loops")["nodes"].to_h { |node| node.values_at("work_name", "state") }
  end
  become = lambda do |loops, servers, finite|
    wanted = { "loop" => loops, "server" => servers, "finite" => finite }
    swarm.follow(-> { "the nodes are #{states.call}, not #{wanted}" }) do
      now = states.call
      now.size == 5 && now.all? { |work, state| wanted[work[/[a-z]+/]].include?(state) }
    end
  end
  # A server that was about to end for the last resume ends in this quiet.
  in_quiet = [%w[waiting], %w[quiet waiting], %w[quiet]]
  client = swarm.client("loops")
  swarm.await("node_ready", times: 5)

  3.times do
    client.call("quiet")
    become.call(*in_quiet)
    client.call("resume")
    become.call(%w[ready], %w[ready], %w[ready])
  end
  5.times do # both before any node has ended
    %w[quiet resume].each { |command| client.call(command) }
    become.call(%w[ready], %w[ready], %w[ready])
  end

  client.call("quiet")
  become.call(*in_quiet)
  File.write("#{swarm.directory}/over", "")
  swarm.await("node_finished")
  client.call("resume")
  become.call(%w[ready], %w[ready], %w[dead])
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
