# frozen_string_literal: true

# Two swarms run on a host: a command without a name asks for one, and `status` shows both, even if
# a supervisor is stopped by SIGSTOP. The files of a killed supervisor are not considered a swarm.
require_relative "scenario"

def source(name)
  <<~RUBY
    Skep.swarm #{name.inspect}, nodes: 2, orphan_timeout: 1 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
end

def run_skep(swarm, *arguments)
  Open3.capture3({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby, swarm.class::SKEP,
                 *arguments).then { |out, err, status| [out, err, status.exitstatus] }
end

Scenario.play do
  billing = run_swarm(source("billing"))
  billing.await("node_ready", times: 2)
  mail = run_swarm(source("mail"), in_directory: billing.directory)
  mail.await("node_ready", times: 2)

  out, _, code = run_skep(billing, "status")
  must("show both: #{out}") do
    code.zero? && out.lines.size == 3 && out.match?(/^billing  running .* #{billing.pid}$/)
  end
  lines = run_skep(billing, "status", "--json").first.lines.map { |line| JSON.parse(line)["name"] }
  must("show both in JSON: #{lines}") { lines == %w[billing mail] }
  [["quiet"], ["top"], ["stop"]].each do |command|
    _, err, code = run_skep(billing, *command)
    must("ask for a name: #{err}") do
      code == 1 && err == "skep: several swarms run here: name one of billing, mail\n"
    end
  end
  _, err, code = run_skep(billing, "stop", "biling")
  must("suggest the name: #{err}") { code == 1 && err.end_with?("did you mean billing?\n") }

  mail.signal(:STOP)
  out, err, = run_skep(billing, "status")
  must("show the stopped swarm as silent: #{out}") do
    out.match?(/^mail     silent/) && out.include?("running")
  end
  must("print that its socket is silent: #{err}") do
    err.lines.one? && err.include?("mail.sock, it is silent")
  end
  mail.signal(:CONT)

  mail.signal(:KILL)
  mail.wait
  out, _, code = run_skep(billing, "status")
  must("show the only swarm: #{out}") { code.zero? && out.start_with?("billing: running") }
  must("stop the only swarm without a name") { run_skep(billing, "stop").last.zero? }
  _, err, code = run_skep(billing, "status")
  must("report that no swarm runs: #{err}") { code == 1 && err.include?("no swarm runs in ") }
  must("stop with 0") { billing.wait.exitstatus == 0 }
end
