# frozen_string_literal: true

# For any error in a swarm file, skep prints one sentence without a backtrace, and leaves no process
# running. The exit code is 78, or 1 if the application itself raised or died.
require_relative "scenario"

Scenario.play do
  block = "swarm.work { |node| node.ready!; node.wait until node.stopping? }"
  bad = {
    "a syntax error" => ["Skep.swarm('a') do |swarm|", /line \d: syntax error/],
    "an unknown option" => ["Skep.swarm('a', nodse: 3) { |swarm| #{block} }",
                            /unknown option: nodse \(did you mean nodes\?\)/],
    "no nodes" => ["Skep.swarm('a', nodes: 0) { |swarm| #{block} }",
                   /nodes must be a whole number from 1 to 100000 \(got 0\)/],
    "no work" => ["Skep.swarm('a') { }", /swarm a has no work/],
    "no swarm" => ["1", /describes no swarm/],
    "a work without a block" => ["Skep.swarm('a') { |swarm| swarm.work }",
                                 /a work without a block does nothing/],
    "a preload that fails" => ["Skep.swarm('a') { |swarm| swarm.preload { nope }; #{block} }",
                               /NameError in preload/],
    "a control path under a file" =>
      ["Skep.swarm('a', control: __FILE__ + '/x.sock') { |swarm| #{block} }",
       /control path .* can't be used/],
    "a log that can't be written" =>
      ["Skep.swarm('a', log: '/no/such/place.log') { |swarm| #{block} }", /the directory of log/],
    "a mold that dies while loading" => ["Process.kill(:KILL, Process.pid)",
                                         /the mold ended while it loaded it, SIGKILL/],
    "an exit while loading" => ["exit 7", /it called exit\(7\)/],
    "an option of the init system" => ["Skep.swarm('a', user: 'nobody') { |swarm| #{block} }",
                                       /unknown option: user \(systemd's User= sets it\)/]
  }
  failing = ["a preload that fails", "a mold that dies while loading"]
  bad.each do |what, (source, sentence)|
    code = failing.include?(what) ? 1 : 78
    swarm = run_swarm(source)
    status = swarm.wait
    must("exit #{code} for #{what}: #{status.inspect}, #{swarm.stderr}") do
      status.exitstatus == code
    end
    must("print one sentence for #{what}: #{swarm.stderr}") do
      swarm.stderr.lines.size == 1 && swarm.stderr.match?(/\Askep: .*#{sentence}/)
    end
    await_exit(swarm.nodes)
  end

  first = run_swarm(IDLE)
  first.await("node_ready", times: 3)
  second = run_swarm(IDLE, env: { "SKEP_RUN_DIR" => first.directory })
  must("refuse the name of a running swarm: #{second.stderr}") do
    second.wait.exitstatus == 78 &&
      second.stderr.match?(/a swarm already runs with control path .*\(pid #{first.pid}\)/)
  end
  must("leave the first swarm alone") do
    first.status("idle")["state"] == "running" && first.stop.exitstatus == 0
  end
end
