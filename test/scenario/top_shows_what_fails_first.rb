# frozen_string_literal: true

# `skep top` in terminals of 80 and 100 columns, for a swarm of which one node fails: the problem
# comes before all else, with its place and its error, and the node is the first row and marked.
# In 100 columns the event, too, shows the line and the error.
require_relative "scenario"
require_relative "support/terminal"

SWARM = <<~'RUBY'
  Skep.swarm "shop", nodes: 3, max_restarts: 1 do |swarm|
    swarm.work do |node|
      def charge = raise(KeyError, "key not found: :customer_id (in the third order of this invoice)")
      charge if node.id == 2
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY
TOP = "#{RbConfig.ruby} -w #{Scenario::RunningSwarm::SKEP} top"

Scenario.play do
  why = Terminal.lacking
  missing why if why

  swarm = run_swarm(SWARM)
  swarm.await("crash_loop")
  env = { "SKEP_RUN_DIR" => swarm.directory, "TERM" => "screen-256color", "LC_ALL" => "C.UTF-8" }
  terminal = Terminal.new(directory, rows: 24, columns: 80, env:)
  at_end { terminal.close }
  terminal.type(TOP, "Enter")
  [80, 100].each do |columns|
    terminal.resize(24, columns)
    lines = terminal.await("the problem in #{columns} columns") do |all|
      all.any?(/\A  node +pid/) && all.any?(/\A! node 2, .{#{columns - 40}}/)
    end
    lines = lines.drop_while { |line| !line.start_with?("!") }
    text = lines.first(3).join(" ").squeeze(" ")
    must("show place and error of the problem whole, not #{text}") do
      text.match?(/\A! node 2, \S*swarm\.rb:3: it keeps crashing/) &&
        text.include?("KeyError: key not found: :customer_id (in the third order")
    end
    rows = lines.grep(/\A[> ][! ]\d .* (?:\d+|-) (?:waiting|ready|booting|dead) /)
    rows = rows.map { |line| line[0, 3] }
    must("show the node first, and marked: #{rows}") { rows == [">!2", "  0", "  1"] }
    must("cut no line in its middle") { lines.all? { |line| line.size <= columns } }
  end
  event = terminal.lines.grep(/node_failed/).last
  must("show line and error of the event, not #{event}") do
    event&.match?(/node_failed +at=\S*swarm\.rb:3 error=KeyError/)
  end
  terminal.type("q")
  plain = terminal.run("#{TOP} --once")
  must("do the same without a screen: #{plain}") do
    plain.grep(/\A [! ]\d /).first&.start_with?(" !2 ")
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
