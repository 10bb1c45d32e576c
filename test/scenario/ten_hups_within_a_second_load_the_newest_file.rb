# frozen_string_literal: true

# A deploy script writes the file and sends HUP ten times within a second, and the file is another
# one each time. The swarm never has fewer ready nodes than configured, and at the end all of them
# run the newest file.
require_relative "scenario"

CODE = <<~'RUBY'
  VERSION = %<version>s
  Skep.swarm "deploys", nodes: 3, max_restarts: 1_000 do |swarm|
    swarm.on_boot { |node| node.wait(0.1) }
    swarm.work do |node|
      node.event(:runs, version: VERSION)
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(format(CODE, version: 0))
  swarm.await("node_ready", times: 3)
  write = lambda do |version|
    file = File.join(swarm.directory, "swarm.rb")
    File.write("#{file}.new", format(CODE, version:))
    File.rename("#{file}.new", file)
  end
  # Returns the versions that the nodes run.
  versions = lambda do
    known = swarm.events.select { |one| one["event"] == "runs" }
                 .to_h { |one| one.values_at("pid", "version") }
    swarm.status("deploys")["nodes"].map { |node| node["state"] == "ready" && known[node["pid"]] }
  end

  2.times do |deploy|
    newest = 10 * (deploy + 1)
    10.times do |count|
      write.call(newest - 9 + count)
      swarm.signal(:HUP)
      swarm.follow_for(0.1)
    end
    swarm.follow(-> { "all nodes run version #{newest}, not #{versions.call}" }) do
      versions.call == [newest] * 3
    end
    swarm.follow("the last reload is over") do
      counts = %w[reload_started reload_finished].map do |name|
        swarm.events.count { |one| one["event"] == name }
      end
      counts.uniq.one?
    end
    must("run the newest file to the end: #{versions.call}") { versions.call == [newest] * 3 }
  end
  must("refuse no reload, and fail none") do
    swarm.events.none? { |one| %w[reload_refused reload_failed].include?(one["event"]) }
  end
  must("have one mold left") do
    swarm.status("deploys")["nodes"].map { |node| node["mold"] }.uniq.one?
  end
  must("have no error of its own") do
    swarm.events.none? { |one| one["event"] == "supervisor_error" }
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  least = swarm.least_ready(3)
  must("never have fewer nodes ready than 3, not #{least}") { least == 3 }
end
