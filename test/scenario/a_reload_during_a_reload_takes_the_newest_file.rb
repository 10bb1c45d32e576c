# frozen_string_literal: true

# HUP comes again while a reload is under way, and the file has changed since: it is reloaded once
# more at the end, so that all nodes run the newest file. A reload in a directory that a deploy has
# deleted fails with the reason, and the nodes continue.
require_relative "scenario"

CODE = <<~'RUBY'
  VERSION = %<version>s
  Skep.swarm "code", nodes: 2, max_restarts: 1_000 do |swarm|
    # Boots until the scenario lets it.
    swarm.on_boot { |node| node.wait(0.05) while VERSION == 2 && !File.exist?("%<directory>s/go") }
    swarm.work do |node|
      node.event(:runs, version: VERSION)
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  start = File.join(directory, "release")
  Dir.mkdir(start)
  file = File.join(directory, "code.rb")
  write = ->(version) { File.write(file, format(CODE, version:, directory:)) }
  write.call(1)
  swarm = run_swarm("load #{file.inspect}", before: "Dir.chdir(#{start.inspect})")
  swarm.await("node_ready", times: 2)
  version = lambda do |wanted|
    swarm.await("runs", times: 2) { |one| one["version"] == wanted }
  end

  write.call(2)
  swarm.signal(:HUP)
  swarm.await("reload_started")
  swarm.await("node_replacing")
  write.call(3)
  2.times do
    swarm.signal(:HUP)
    swarm.follow_for(0.1)
  end
  File.write("#{directory}/go", "")
  swarm.await("reload_finished", times: 2)
  version.call(3)
  counts = %w[reload_started reload_finished reload_refused].map do |name|
    swarm.events.count { |one| one["event"] == name }
  end
  must("reload twice, and refuse none: #{counts}") { counts == [2, 2, 0] }

  # Bundler needs the directory.
  File.write("#{start}/Gemfile", "")
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  swarm = run_swarm("load #{file.inspect}", before: "Dir.chdir(#{start.inspect})",
                                            env: { "RUBYOPT" => "-rbundler/setup",
                                                   "BUNDLE_GEMFILE" => "#{start}/Gemfile" })
  pids = swarm.await("node_ready", times: 2).map { |one| one["pid"] }
  FileUtils.rm_r(start)
  swarm.signal(:HUP)
  failed = swarm.await("reload_failed")
  must("name the reason: #{failed}") do
    failed["error"] == "the new mold ended, exit status 1: " \
                       "the directory that the swarm was started in was deleted"
  end
  must("keep the nodes") do
    swarm.status("code")["nodes"].map { |node| node["pid"] }.sort == pids.sort
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
