# frozen_string_literal: true

# A control socket reports pids that don't belong to the process behind it: another program, or a
# swarm in another PID namespace. `skep chaos` and `skep stop` signal no process and wait for none.
# The namespace needs root; without root only the first half runs.
require_relative "scenario"

UNSHARE = %w[unshare --pid --fork --kill-child --mount-proc].freeze

Scenario.play do
  # Unrelated processes: one with two children, like a shell with its jobs.
  reader, writer = IO.pipe
  shell = fork do
    reader.close
    Process.setsid
    writer.puts(*Array.new(2) { fork { IO.select(nil) } })
    IO.select(nil)
  end
  at_end { Skep.pidfd(shell).then { |pidfd| Scenario.kill(pidfd, group: true) && pidfd.close } }
  jobs = Array.new(2) { reader.gets.to_i }
  liar = "#{directory}/liar.sock"
  server = UNIXServer.new(liar)
  nodes = jobs.each_with_index.map do |pid, id|
    { id:, pid:, state: "ready", restarts: 0, work: {} }
  end
  status = { name: "liar", pid: shell, state: "running", uptime: 1.0, skep: Skep::VERSION,
             ruby: RUBY_VERSION, nodes: }
  answering = Thread.new do
    loop do
      client = server.accept
      if client.gets.include?("follow")
        client.puts('{"v":1,"follow":{"seq":1}}')
        (@kept ||= []) << client
      else
        client.puts(JSON.generate({ v: 1, status: }))
        client.close
      end
    end
  end
  at_end { answering.kill.join && server.close }

  run = lambda do |*words|
    Open3.capture2e({ "SKEP_RUN_DIR" => directory }, RbConfig.ruby,
                    Scenario::RunningSwarm::SKEP, *words)
  end
  harm = %w[--seconds 3 --kill-rate 600 --mold-rate 600 --storm-rate 60 --recovery-timeout 1]
  refused = lambda do |pid, *words|
    output, code = run.call(*words)
    must("refuse #{words.join(" ")}: #{output}") do
      !code.success? && output.lines.one? &&
        output.match?(/\Askep: the swarm at .* reports process #{pid}, but .* answers/)
    end
    left = jobs.select { |job| stat = File.read("/proc/#{job}/stat"); !stat.match?(/\) [ZX]/) }
    must("signal no unrelated process: #{left} of #{jobs}") { left == jobs }
  end
  refused.call(shell, "chaos", "--control", liar, *harm)
  refused.call(shell, "stop", "--control", liar)

  next unless Process.uid.zero? && system(*UNSHARE, "true", err: File::NULL)

  swarm = run_swarm(IDLE, under: UNSHARE, in_directory: directory)
  swarm.await("node_ready", times: 3)
  refused.call(1, "chaos", "idle", *harm)
  refused.call(1, "stop", "idle")
  must("signal no node of the swarm") do
    swarm.events.none? { |event| GONE.include?(event["event"]) }
  end
  [%w[status idle], %w[top --once idle]].each do |words|
    output, code = run.call(*words)
    must("still show the swarm by #{words.join(" ")}: #{output}") do
      code.success? && output.include?("idle") && output.include?("ready")
    end
  end
  output, code = run.call("stop", "--no-wait", "idle")
  must("stop the swarm without waiting: #{output}") { code.success? }
  must("end with 0; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
