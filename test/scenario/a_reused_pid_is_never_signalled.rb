# frozen_string_literal: true

# A number that has gone to another process: Process.kill hits that one, a pidfd answers ESRCH, in C
# and in the fallback. The kernel is made to give the number out again, in a pid namespace.
#
# What it prints: how often each means hit the stranger.
require_relative "scenario"
require "open3"

SETTING = "/proc/sys/kernel/ns_last_pid"
# As no other process takes a number there, the next one is the one we ask for.
NAMESPACE = %w[unshare --pid --fork --mount-proc].freeze

# Runs in the namespace. A line a round: what the pidfd said, and the signals that the stranger got.
ROUNDS = <<~'RUBY'
  require "skep/os"
  $stdout.sync = true

  # A process that leads its group, notes what signals it gets, and ends by TERM.
  class Stranger
    attr_reader :pid

    def initialize
      @notes, writer = IO.pipe
      @pid = fork { live(writer) }
      writer.close
      @notes.gets
    end

    # What it notes next, for which it has five seconds.
    def next_note = @notes.wait_readable(5) && @notes.gets.chomp

    # The names of what else it got, once it has ended.
    def end
      Process.kill(:TERM, @pid)
      Process.wait(@pid)
      @notes.read.split
    ensure
      @notes.close
    end

    private

    def live(writer)
      Process.setpgrp
      %w[USR1 USR2].each { |name| trap(name) { writer.syswrite("#{name}\n") } }
      trap(:TERM) { exit!(0) }
      writer.syswrite("ready\n") # unbuffered: a handler may not wait for its lock
      IO.select(nil) while true
    end
  end

  # A child that has ended and whose number is free, with the pidfd that was made of it.
  def departed(reap)
    gate, release = IO.pipe
    pid = fork { release.close; gate.read; exit!(7) }
    pidfd = Skep.pidfd(pid)
    gate.close
    release.close
    reap.call(pidfd)
    pidfd
  end

  def stranger_with(pid)
    100.times do
      File.write(ARGV.first, (pid - 1).to_s)
      stranger = Stranger.new
      return stranger if stranger.pid == pid

      stranger.end
    end
    abort "the number #{pid} didn't come again"
  end

  def answer
    yield
    "sent"
  rescue SystemCallError => error
    error.class.name
  end

  reapers = [->(pidfd) { pidfd.wait(timeout: 5) }, ->(pidfd) { Process.wait(pidfd.pid) }]
  40.times do |round|
    pidfd = departed(reapers[round % 2])
    stranger = stranger_with(pidfd.pid)
    told = [answer { pidfd.signal(:USR1) }, answer { pidfd.signal(:USR1, group: true) }]
    alive = [pidfd.alive?, Skep.pidfd(pidfd.pid).then { |its| its.alive?.tap { its.close } }]
    Process.kill(:USR2, pidfd.pid)
    note = stranger.next_note
    puts [*told, *alive, pidfd.wait(timeout: 5)&.exitstatus || "none", note, *stranger.end].join(" ")
    pidfd.close
  end
RUBY

def possible?
  File.writable?(SETTING) && system(*NAMESPACE, "true", err: File::NULL) == true
end

# [signal, signal to its group, is the old alive, is the new, status, what the stranger got...]
def play_rounds(pure)
  lib = File.expand_path("../../lib", __dir__)
  program = [RbConfig.ruby, "-w", "-I#{lib}", "-e", ROUNDS, SETTING]
  out, err, status = Open3.capture3({ "SKEP_PURE" => pure }, *NAMESPACE, *program)
  fine = status.success? && err.empty? && out.lines.size == 40
  raise Scenario::Failed, "40 rounds weren't played: #{err}#{out}" unless fine

  out.lines.map(&:split)
end

Scenario.play do
  possible? or missing "root, a writable #{SETTING} and unshare(1), to make the kernel reuse a pid"
  { "C" => nil, "the fallback" => "1" }.each do |name, pure|
    next unless pure || Skep::OS::Pidfd.native?

    rounds = play_rounds(pure)
    signals, alive, statuses = rounds.map { |round| [round[0, 2], round[2, 2], round[4]] }.transpose
    must("answer ESRCH to each signal: #{signals}") { (signals - [["Errno::ESRCH"] * 2]).empty? }
    must("know the old dead, the new alive: #{alive}") { (alive - [%w[false true]]).empty? }
    must("tell the old one's status, or none: #{statuses}") { (statuses - %w[7 none]).empty? }
    must("leave the stranger to Process.kill") { rounds.all? { |round| round.drop(5) == ["USR2"] } }
    puts "#{name}: of 40 reused pids Process.kill hit the stranger 40 times, the pidfd never"
  end
end
