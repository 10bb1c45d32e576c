# frozen_string_literal: true

# Ctrl-C in foreman's terminal reaches foreman and the supervisor as INT, and foreman sends TERM
# then: that is one graceful stop, in which each node finishes. So is a TERM of foreman itself. What
# nodes print comes at once. Runs examples/procfile.
require_relative "../scenario"
require "pty"

FOLDER = File.expand_path("../../../examples/procfile", __dir__)
CODE = File.expand_path("../../..", __dir__)
BOTH = ["node 0", "node 1"].freeze

# What foreman prints, and how it ends.
class Foreman
  attr_reader :said

  def initialize(directory)
    @said = +""
    env = { "SKEP_RUN_DIR" => directory, "BUNDLE_GEMFILE" => "#{CODE}/Gemfile" }
    @out, @in, pid = PTY.spawn(env, RbConfig.ruby, Gem.bin_path("foreman", "foreman"), "start",
                               "-d", FOLDER, "-f", "#{FOLDER}/Procfile", "-t", "20")
    @pidfd = Skep.pidfd(pid)
  end

  def until_said(*words)
    deadline = Skep::OS.now + Scenario::SECONDS
    until words.all? { |word| said.include?(word) }
      @out.wait_readable([deadline - Skep::OS.now, 0].max) or
        raise Scenario::Failed, "no #{words} in #{said}"
      said << @out.readpartial(65_536)
    end
  rescue Errno::EIO # its terminal's end
    raise Scenario::Failed, "no #{words} in #{said}"
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
    foreman.until_said(*BOTH.map { |node| "#{node} works" }, "node_ready")
    foreman.public_send(stop)
    foreman.until_said("exited with code 0", *BOTH.map { |node| "#{node} has finished" })
    must("stop once, and not by force: #{foreman.said}") do
      foreman.said.scan("swarm_stopping").one? && !foreman.said.include?("swarm_forced")
    end
  end
end
