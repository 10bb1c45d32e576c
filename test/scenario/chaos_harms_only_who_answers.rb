# frozen_string_literal: true

# A socket's answer names pids that aren't those of the process which answers: another program that
# lies, or a swarm in a pid namespace of its own. No process here is signalled, and none is waited
# for. Root alone can make such a namespace: elsewhere only the first half is shown.
require_relative "scenario"

UNSHARE = %w[unshare --pid --fork --kill-child --mount-proc].freeze

Scenario.play do
  # Bystanders: a process and two children of its own, as a shell with its jobs.
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
    said, code = run.call(*words)
    must("refuse #{words.join(" ")}: #{said}") do
      !code.success? && said.lines.one? &&
        said.match?(/\Askep: the swarm at .* says it is process #{pid}, but .* answers/)
    end
    left = jobs.select { |job| stat = File.read("/proc/#{job}/stat"); !stat.match?(/\) [ZX]/) }
    must("harm no bystander: #{left} of #{jobs}") { left == jobs }
  end
  refused.call(shell, "chaos", "--control", liar, *harm)
  refused.call(shell, "stop", "--control", liar)

  next unless Process.uid.zero? && system(*UNSHARE, "true", err: File::NULL)

  swarm = run_swarm(IDLE, under: UNSHARE, in_directory: directory)
  swarm.await("node_ready", times: 3)
  refused.call(1, "chaos", "idle", *harm)
  refused.call(1, "stop", "idle")
  must("harm no node of it") { swarm.events.none? { |event| GONE.include?(event["event"]) } }
  [%w[status idle], %w[top --once idle]].each do |words|
    said, code = run.call(*words)
    must("still show it by #{words.join(" ")}: #{said}") do
      code.success? && said.include?("idle") && said.include?("ready")
    end
  end
  said, code = run.call("stop", "--no-wait", "idle")
  must("stop it without waiting: #{said}") { code.success? }
  must("end with 0; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
