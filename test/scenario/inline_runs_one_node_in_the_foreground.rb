# frozen_string_literal: true

# `skep run --inline FILE`: one process without a fork, with the same signals and the same hooks.
require_relative "scenario"

Scenario.play do
  source = <<~RUBY
    Skep.swarm "inline", nodes: 4 do |swarm|
      swarm.preload { @loaded = Process.pid }
      swarm.on_boot { |node| node.event(:booted, pid: Process.pid) }
      swarm.on_exit { |node| node.event(:left, node: node.id) }
      swarm.work { |node| node.ready!; node.wait until node.stopping?; raise "late" if ENV["FAIL"] }
    end
  RUBY
  swarm = run_swarm(source, arguments: ["--inline"])
  must("run the node in its own process") { swarm.await("booted")["pid"] == swarm.pid }
  swarm.await("node_ready")
  must("have no child") { File.read("/proc/#{swarm.pid}/task/#{swarm.pid}/children").empty? }
  swarm.signal(:TTIN)
  must("log backtraces on TTIN") { swarm.await("node_backtraces")["threads"].any? }
  must("end with 0 on TERM") { swarm.stop.exitstatus == 0 && swarm.await("left")["node"].zero? }

  failing = run_swarm(source, arguments: ["--inline"], env: { "FAIL" => "1" })
  failing.await("node_ready")
  must("end with 1 when the work raises, and print the error") do
    failing.stop.exitstatus == 1 && failing.stderr.include?("late (RuntimeError)")
  end
  several = "Skep.swarm('inline') { |swarm| swarm.work('web') { raise 'web' }; " \
            "swarm.work('jobs') { |node| node.event(:began, name: node.work_name) } }"
  jobs = run_swarm(several, arguments: %w[--inline --work jobs])
  must("run the work that is named") { jobs.await("began")["name"] == "jobs" }
  must("end with 0 when it returns") { jobs.wait.exitstatus.zero? }
  none = run_swarm(several, arguments: %w[--inline --work job])
  must("refuse a work that isn't there with 78") { none.wait.exitstatus == 78 }
  must("name those that are: #{none.stderr}") do
    none.stderr.end_with?("swarm.rb: there is no work \"job\", but web, jobs\n")
  end
  must("refuse a bad file with one sentence") do
    bad = run_swarm("Skep.swarm('a') { }", arguments: ["--inline"])
    bad.wait.exitstatus == 78 && bad.stderr.lines.size == 1 &&
      bad.stderr.include?("has no work")
  end
end
