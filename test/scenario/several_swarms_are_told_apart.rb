# frozen_string_literal: true

# Two swarms on a host: a command without a name says that it needs one, `status` shows both, one
# that is stopped keeps neither from being seen, and what a killed supervisor has left is no swarm.
require_relative "scenario"

def source(name)
  <<~RUBY
    Skep.swarm #{name.inspect}, nodes: 2, orphan_timeout: 1 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
end

def said(swarm, *arguments)
  Open3.capture3({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby, swarm.class::SKEP,
                 *arguments).then { |out, err, status| [out, err, status.exitstatus] }
end

Scenario.play do
  billing = run_swarm(source("billing"))
  billing.await("node_ready", times: 2)
  mail = run_swarm(source("mail"), in_directory: billing.directory)
  mail.await("node_ready", times: 2)

  out, _, code = said(billing, "status")
  must("show both: #{out}") do
    code.zero? && out.lines.size == 3 && out.match?(/^billing  running .* #{billing.pid}$/)
  end
  lines = said(billing, "status", "--json").first.lines.map { |line| JSON.parse(line)["name"] }
  must("show both in JSON: #{lines}") { lines == %w[billing mail] }
  [["quiet"], ["top"], ["stop"]].each do |command|
    _, err, code = said(billing, *command)
    must("ask which: #{err}") { code == 1 && err == "skep: several swarms run here: name one of " \
                                                    "billing, mail\n" }
  end
  _, err, code = said(billing, "stop", "biling")
  must("know what was meant: #{err}") { code == 1 && err.end_with?("did you mean billing?\n") }

  mail.signal(:STOP)
  out, err, = said(billing, "status")
  must("show who is silent: #{out}") { out.match?(/^mail     silent/) && out.include?("running") }
  must("say so: #{err}") { err.lines.one? && err.include?("mail.sock, it is silent") }
  mail.signal(:CONT)

  mail.signal(:KILL)
  mail.wait
  out, _, code = said(billing, "status")
  must("show the only one: #{out}") { code.zero? && out.start_with?("billing: running") }
  must("stop the only one") { said(billing, "stop").last.zero? }
  _, err, code = said(billing, "status")
  must("say that there is none: #{err}") { code == 1 && err.include?("no swarm runs here") }
  must("stop with 0") { billing.wait.exitstatus == 0 }
end
