# frozen_string_literal: true

# `skep top` in a real terminal: it shows what happened before, a killed node and its successor,
# asks before a key acts, redraws at another size, and waits for a swarm that ends and returns.
# However it ends or is suspended, it restores the terminal.
require_relative "scenario"
require_relative "support/terminal"

SHOWN = <<~RUBY
  Skep.swarm "shown", nodes: 3, max_restarts: 1_000_000 do |swarm|
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY
SKEP = "#{RbConfig.ruby} -w #{Scenario::RunningSwarm::SKEP}"
TOP = "#{SKEP} top"

# Returns the pids of the nodes that the table shows as ready.
def ready(lines) = lines.filter_map { |line| line[/\A(?:> |  )\d+ +(\d+) +ready /, 1]&.to_i }

def asks(terminal, key, question)
  terminal.type(key)
  terminal.await(question) { |lines| lines.last == "#{question} y/n" }
end

# Presses a key and answers; waits for the result in the last line.
def does(terminal, key, answer, result)
  terminal.type(key, answer)
  terminal.await(result) { |lines| lines.last == result }
end

# Returns the terminal's settings, once the shell is back on the screen.
def left(terminal)
  terminal.await("the shell") do |all|
    ready(all).empty? && all.any?(/\A#{Terminal::PROMPT.rstrip}/)
  end
  terminal.run("stty -g")
end

Scenario.play do
  why = Terminal.lacking
  missing why if why

  swarm = run_swarm(SHOWN)
  swarm.kill(swarm.await("node_ready", times: 3).last["pid"])
  earlier = swarm.await("node_died")["pid"]
  swarm.await("node_ready")
  env = { "SKEP_RUN_DIR" => swarm.directory, "TERM" => "screen-256color", "LC_ALL" => "C.UTF-8" }
  terminal = Terminal.new(directory, rows: 24, columns: 80, env:)
  at_end { terminal.close }
  before = terminal.run("stty -g")

  terminal.type(TOP, "Enter")
  pids = ready(terminal.await("three nodes") { |lines| ready(lines).size == 3 })
  terminal.await("a death from before") do |lines|
    lines.any?(/node_died .*pid=#{earlier} signal=KILL/)
  end
  must("show the pids of the nodes") do
    pids == swarm.status("shown")["nodes"].map { |node| node["pid"] }
  end
  terminal.type("j")
  terminal.await("the second node selected") { |lines| lines.any?(/\A> 1 /) }
  swarm.kill(pids[1])
  lines = terminal.await("its successor") { |all| ready(all).size == 3 && ready(all) != pids }
  must("show the last exit: #{lines}") { lines.any?(/\A> 1 .* SIGKILL/) }
  must("show the event node_died") { lines.any?(/node_died .*pid=#{pids[1]} signal=KILL/) }
  asks(terminal, "r", "restart node 1?")
  does(terminal, "n", "", "nothing was done")
  does(terminal, "r", "y", "restart of node 1: done")
  does(terminal, "+", "", "scale to 4 nodes: done")
  does(terminal, "-", "y", "scale to 3 nodes: done")
  terminal.type("b")
  terminal.await("backtraces") { |all| all.first == "backtraces" }
  terminal.type("x")

  terminal.resize(40, 140)
  terminal.await("more columns") { |all| all.size > 30 && all.any?(/last exit/) }
  terminal.resize(12, 60)
  terminal.await("fewer columns") { |all| all.any?(/ rst /) && all[11].start_with?("q quit") }
  terminal.resize(24, 80)

  terminal.type("C-z")
  must("restore the terminal at ^Z") { left(terminal) == before }
  terminal.type("fg", "Enter")
  terminal.await("the table again") { |all| ready(all).size == 3 }
  must("use colours") { terminal.painted.match?(/\e\[3[1-6]m/) }

  swarm.stop
  terminal.await("that the swarm doesn't answer") do |all|
    all.any?(/doesn't answer.*; waiting for it/)
  end
  swarm = run_swarm(nil, in_directory: swarm.directory)
  swarm.await("node_ready", times: 3)
  pids = swarm.status("shown")["nodes"].map { |node| node["pid"] }
  terminal.await("the next swarm") { |all| ready(all) == pids && all.none?(/waiting for it/) }
  terminal.type("C-c")
  must("restore the terminal at ^C") { left(terminal) == before }

  terminal.type("sh -c 'echo $$ > #{directory}/pid; NO_COLOR=1 exec #{TOP}'", "Enter")
  terminal.await("the table") { |all| ready(all).size == 3 }
  must("use no colours with NO_COLOR") { !terminal.painted.match?(/\e\[(?!0|39|49)\d/) }
  swarm.kill(Integer(File.read("#{directory}/pid")), :TERM)
  must("restore the terminal at TERM") { left(terminal) == before }

  ["#{TOP} | cat", "TERM=dumb #{TOP}", "#{TOP} --once", "#{TOP} < /dev/null"].each do |command|
    must("print the table once: #{command}") { ready(terminal.run(command)).size == 3 }
  end
  terminal.run("#{SKEP} status")
  must("use colours in skep status") { terminal.painted.include?("\e[32mready") }
  terminal.run("NO_COLOR=1 #{SKEP} status; #{SKEP} status | cat; TERM=dumb #{SKEP} status")
  must("use no colours without a terminal") { !terminal.painted.match?(/\e\[(?!0|39|49)\d/) }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
