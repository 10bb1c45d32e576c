# frozen_string_literal: true

# Ctrl-C in foreman's terminal sends INT to foreman and the supervisor, and then foreman sends TERM:
# that is one graceful stop, in which each node finishes. So is a TERM to foreman. Output of nodes
# is not buffered. Runs examples/procfile.
require_relative "../scenario"
require "pty"

FOLDER = File.expand_path("../../../examples/procfile", __dir__)
CODE = File.expand_path("../../..", __dir__)
BOTH = ["node 0", "node 1"].freeze

# A foreman in a pseudo-terminal, and its output.
class Foreman
  attr_reader :output

  def initialize(directory)
    @output = +""
    env = { "SKEP_RUN_DIR" => directory, "BUNDLE_GEMFILE" => "#{CODE}/Gemfile" }
    @out, @in, pid = PTY.spawn(env, RbConfig.ruby, Gem.bin_path("foreman", "foreman"), "start",
                               "-d", FOLDER, "-f", "#{FOLDER}/Procfile", "-t", "20")
    @pidfd = Skep.pidfd(pid)
  end

  def await(*words)
    deadline = Skep::OS.now + Scenario::SECONDS
    until words.all? { |word| output.include?(word) }
      @out.wait_readable([deadline - Skep::OS.now, 0].max) or
        raise Scenario::Failed, "no #{words} in #{output}"
      output << @out.readpartial(65_536)
    end
  rescue Errno::EIO # foreman has exited
    raise Scenario::Failed, "no #{words} in #{output}"
  end

  def press_control_c = @in.write("\x03")
  def terminate = @pidfd.signal(:TERM)

  def close
    Scenario.kill(@pidfd)
    [@pidfd, @in, @out].each(&:close)
  end
end

Scenario.play do
  foremen = Array.new(2) { |number| Foreman.new(File.join(directory, number.to_s)) }
  at_end { foremen.each(&:close) }
  foremen.zip(%i[press_control_c terminate]) do |foreman, stop|
    foreman.await(*BOTH.map { |node| "#{node} works" }, "node_ready")
    foreman.public_send(stop)
    foreman.await("exited with code 0", *BOTH.map { |node| "#{node} has finished" })
    must("stop once, without force: #{foreman.output}") do
      foreman.output.scan("swarm_stopping").one? && !foreman.output.include?("swarm_forced")
    end
  end
end
