# frozen_string_literal: true

# With `logger:`, any object with Logger's interface receives each event as a line, in the helper
# process, in addition to the log. If it raises, hook_failed is published, and nothing else happens.
require_relative "scenario"

SOURCE = <<~'RUBY'
  require "logger"
  LOGGER = Logger.new("#{__dir__}/app.log", level: :info)
  def LOGGER.add(severity, message = nil, progname = nil)
    raise IOError, "disk" if message.to_s.start_with?("greeting")

    super
  end

  Skep.swarm "logged", nodes: 1, logger: LOGGER, max_restarts: 10 do |swarm|
    swarm.work do |node|
      node.event(:greeting)
      node.event(:signed_in, level: :warn, password: "hunter2")
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  failed = swarm.await("hook_failed")
  must("report a logger that raises: #{failed}") do
    failed.values_at("hook", "error") == ["logger", "IOError: disk"]
  end
  swarm.await("node_ready")
  must("end with 0") { swarm.stop.exitstatus == 0 }

  lines = File.readlines("#{swarm.directory}/app.log")
  must("pass the events as lines:\n#{lines.join}") do
    lines.any? { |line| line.match?(/INFO -- skep: node_ready swarm=logged node=0 /) } &&
      lines.any? { |line| line.match?(/WARN -- skep: signed_in .*password=\[secret\]/) }
  end
  must("write them to the log, too") { swarm.events.any? { |event| event["event"] == "signed_in" } }

  bad = run_swarm("Skep.swarm('a', logger: 3) { |s| s.work { |n| n.wait } }")
  must("refuse an object that is no Logger: #{bad.stderr}") do
    bad.wait.exitstatus != 0 && bad.stderr.include?("logger must be a Logger (got Integer)")
  end
end
