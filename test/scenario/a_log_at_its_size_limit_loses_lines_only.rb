# frozen_string_literal: true

# The log reaches the limit of a file's size (RLIMIT_FSIZE, `ulimit -f`), and the kernel sends
# SIGXFSZ. Nodes are still replaced; lost lines are counted, and reported in the next log file.
# Nodes keep Ruby's own handling of SIGXFSZ. If the limit is too small at the start, skep prints one
# sentence.
require_relative "scenario"

LIMIT = 16 << 20

Scenario.play do
  log = "#{directory}/log"
  File.write(log, "#{"x" * (LIMIT - 8192)}\n")
  swarm = run_swarm(IDLE, arguments: ["--log", log], under: ["prlimit", "--fsize=#{LIMIT}"])
  swarm.follow("all are ready") { File.exist?(log) && File.read(log).scan("node_ready").size == 3 }
  feed = swarm.follow_socket("idle")
  kill_one = lambda do
    swarm.kill(swarm.status("idle")["nodes"].first["pid"])
    deadline = Skep::OS.now + Scenario::SECONDS
    until feed.read.any? { |event| event["event"] == "node_ready" }
      waited = feed.to_io.wait_readable([deadline - Skep::OS.now, 0].max)
      raise Scenario::Failed, "no replacement; #{swarm.account}" if !waited || feed.ended?
    end
  end
  20.times { kill_one.call }
  must("fill the log: #{File.size(log)}") { File.size(log) == LIMIT }
  must("send every event to the client") { feed.lost.zero? }

  node = swarm.status("idle")["nodes"].first["pid"]
  caught = File.read("/proc/#{node}/status")
  xfsz = 1 << (Signal.list["XFSZ"] - 1)
  must("keep the default SIGXFSZ in nodes: #{caught}") do
    %w[SigIgn SigCgt].all? { |set| (caught[/^#{set}:\s+(\h+)/, 1].hex & xfsz).zero? }
  end

  File.rename(log, "#{log}.1")
  swarm.signal(:USR1)
  kill_one.call
  swarm.follow("the log reports the lost lines") do
    File.exist?(log) && File.read(log)[/"lost_lines":\d+\D/]
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  feed.close

  # The output goes to a pipe, as the limit holds for every file.
  File.write("#{directory}/swarm.rb", IDLE)
  [0, 1024, 65_536].each do |limit|
    output, status = Open3.capture2e({ "SKEP_RUN_DIR" => "#{directory}/run" }, "prlimit",
                                     "--fsize=#{limit}", RbConfig.ruby,
                                     Scenario::RunningSwarm::SKEP, "run", "#{directory}/swarm.rb")
    must("name the limit that is too small, at #{limit}: #{status.inspect} #{output}") do
      [1, 71, 78].include?(status.exitstatus) && output.lines.one? &&
        output.match?(/\Askep: .*ulimit -f/)
    end
  end
end
