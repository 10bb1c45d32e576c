# frozen_string_literal: true

# The Tab key in bash and in zsh, each in a real terminal, with the files of completions/: completes
# commands, options, words, files and the names of running swarms. Several candidates are listed.
require_relative "scenario"
require_relative "support/terminal"
require "socket"

# The text before the Tab, and the command line after it.
TYPED = { "skep sta" => "skep status", "skep status bi" => "skep status billing",
          "skep scale --control " => "skep scale --control swarm.rb",
          "skep run --no" => "skep run --nodes", "skep kafka br" => "skep kafka broker",
          "skep check sw" => "skep check swarm.rb" }.freeze
COMPLETIONS = File.expand_path("../../skep/completions", __dir__)
# How each shell loads its script.
SHELLS = {
  "bash" => [Terminal::BASH, ". #{COMPLETIONS}/skep.bash"],
  "zsh" => [%w[zsh -f -i],
            "fpath=(#{COMPLETIONS} $fpath); autoload -Uz compinit; compinit -u -d ../dump"]
}.freeze

def completes(terminal, typed, whole)
  terminal.type("-l", typed)
  terminal.type("Tab")
  terminal.await("#{whole.inspect} after #{typed.inspect}") do |lines|
    lines.include?("#{Terminal::PROMPT}#{whole}")
  end
  terminal.type("C-u")
end

def shows(terminal, typed, choices)
  terminal.type("-l", typed)
  terminal.type("Tab", "Tab")
  terminal.await("choices for #{typed.inspect}") { |lines| lines.any?(choices) }
end

Scenario.play do
  why = Terminal.lacking
  why ||= "it needs zsh: bin/setup scenario" unless system("command -v zsh > #{File::NULL}")
  missing why if why

  %w[run here].each { |name| Dir.mkdir("#{directory}/#{name}") }
  File.write("#{directory}/here/swarm.rb", "")
  sockets = %w[billing books].map { |name| UNIXServer.new("#{directory}/run/#{name}.sock") }
  at_end { sockets.each(&:close) }

  SHELLS.each do |shell, (command, loads)|
    Dir.mkdir(place = "#{directory}/#{shell}")
    env = { "SKEP_RUN_DIR" => "#{directory}/run", "TERM" => "screen-256color" }
    terminal = Terminal.new(place, rows: 24, columns: 100, env:, shell: command)
    at_end { terminal.close }
    terminal.run("cd #{directory}/here; #{loads}")
    TYPED.each { |typed, whole| completes(terminal, typed, whole) }
    shows(terminal, "skep status b", /billing\s+books/)
  end
end
