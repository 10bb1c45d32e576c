# frozen_string_literal: true

# The log has reached the limit of a file's size (RLIMIT_FSIZE, `ulimit -f`): the kernel sends
# SIGXFSZ, which is no reason to end. Nodes are replaced all the same, lines that were lost are
# counted, and told in a new file. Nodes have Ruby's own handling of that signal. Where the limit is
# too small to begin with there is one sentence.
require_relative "scenario"

LIMIT = 4 << 20

Scenario.play do
  log = "#{directory}/log"
  File.write(log, "#{"x" * (LIMIT - 8192)}\n")
  swarm = run_swarm(IDLE, arguments: ["--log", log], under: ["prlimit", "--fsize=#{LIMIT}"])
  swarm.follow("it logs there") { File.exist?(log) && File.read(log).scan("node_ready").size == 3 }
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
  must("have filled its log: #{File.size(log)}") { File.size(log) == LIMIT }
  must("have lost no event for those who follow") { feed.lost.zero? }

  node = swarm.status("idle")["nodes"].first["pid"]
  caught = File.read("/proc/#{node}/status")
  xfsz = 1 << (Signal.list["XFSZ"] - 1)
  must("leave nodes the default: #{caught}") do
    %w[SigIgn SigCgt].all? { |set| (caught[/^#{set}:\s+(\h+)/, 1].hex & xfsz).zero? }
  end

  File.rename(log, "#{log}.1")
  swarm.signal(:USR1)
  kill_one.call
  swarm.follow("it tells what was lost") do
    File.exist?(log) && File.read(log)[/"lost_lines":\d+\D/]
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  feed.close

  # By pipes: a file couldn't take what is said.
  File.write("#{directory}/swarm.rb", IDLE)
  [0, 1024, 65_536].each do |limit|
    said, status = Open3.capture2e({ "SKEP_RUN_DIR" => "#{directory}/run" }, "prlimit",
                                   "--fsize=#{limit}", RbConfig.ruby, Scenario::RunningSwarm::SKEP,
                                   "run", "#{directory}/swarm.rb")
    must("say what is too small at #{limit}: #{status.inspect} #{said}") do
      [1, 71, 78].include?(status.exitstatus) && said.lines.one? &&
        said.match?(/\Askep: .*ulimit -f/)
    end
  end
end
