# frozen_string_literal: true

# /readyz reports whether the swarm can work, and if not, why; /healthz reports whether its
# supervisor is alive. A swarm whose metrics address is in use works without it, and takes it once
# it is free.
require_relative "scenario"

MetricsScenario.play do
  source = <<~'RUBY'
    there = ->(name) { File.exist?("#{__dir__}/#{name}") }
    pause = -> { IO.select(nil, nil, nil, 0.02) }
    Skep.swarm "probed", nodes: 2, metrics: ARGV.first, max_restarts: 1, restart_window: 1 do |swarm|
      swarm.on_boot { pause.call until there["go"] }
      swarm.work do |node|
        node.ready!
        until node.stopping?
          node.wait(0.02)
          Process.kill(:KILL, Process.pid) if node.id.zero? && there["crash"]
        end
        pause.call until there["end"]
      end
    end
  RUBY
  swarm = run_swarm(source, arguments: ["--", "127.0.0.1:0"])
  note = ->(name) { File.write("#{swarm.directory}/#{name}", "") }
  address(swarm)

  swarm.await("node_forked", times: 3)
  must("not be ready before its nodes are") do
    get("/readyz") == [503, "not ready: none of the 2 nodes of work work is ready\n"]
  end
  note.call("go")
  must("be ready") { await_answer(swarm, "/readyz", 200) == "ready\n" }
  await_answer(swarm, "/readyz?nodes=all", 200)
  must("not be ready with fewer nodes than requested") do
    get("/readyz?nodes=3") == [503, "not ready: 2 of 2 nodes are ready, 3 must be\n"]
  end

  note.call("crash")
  why = await_answer(swarm, "/readyz", 503)
  must("report the crash loop: #{why}") do
    why.match?(/\Anot ready: node 0 is in a crash loop: \d deaths since .* last by SIGKILL\n\z/)
  end
  must("be alive in the crash loop") { get("/healthz") == [200, "swarm probed is running\n"] }
  must("count the crash loop") { scrape["skep_crash_loop"] == 1 }

  # Another swarm can't have the address until this one has ended.
  other = run_swarm(source.sub("probed", "other"), arguments: ["--", "#{@host}:#{@port}"])
  unavailable = other.await("metrics_unavailable")
  must("report that the address is in use: #{unavailable}") do
    address = "#{@host}:#{@port}"
    unavailable["error"] == "metrics can't be served at #{address}: another process uses it" &&
      unavailable["hint"].start_with?("free it")
  end
  File.write("#{other.directory}/go", "")
  other.await("node_ready", times: 3)

  swarm.kill(swarm.pid, :STOP)
  must("leave probes of a stopped supervisor without an answer") do
    get("/healthz", seconds: 2).nil?
  end
  swarm.kill(swarm.pid, :CONT)
  await_answer(swarm, "/healthz", 200)

  swarm.signal(:TERM)
  swarm.follow("/readyz reports that it is stopping") do
    get("/readyz") == [503, "not ready: it is stopping\n"]
  end
  note.call("end")
  must("stop with 0") { swarm.wait.exitstatus == 0 }
  other.await("metrics_listening")
  must("serve at the address now") { get("/readyz?nodes=all").first == 200 }
  File.write("#{other.directory}/end", "")
  must("stop with 0, too") { other.stop.exitstatus == 0 }
end
