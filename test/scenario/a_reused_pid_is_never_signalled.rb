# frozen_string_literal: true

# The kernel reuses a pid for another process, in a pid namespace. Process.kill reaches that
# process; a pidfd of the old process raises ESRCH, in C and in the fallback.
#
# Prints how often each of them reached the other process.
require_relative "scenario"
require "open3"

SETTING = "/proc/sys/kernel/ns_last_pid"
# No other process takes a pid in the namespace, so the next one is the requested one.
NAMESPACE = %w[unshare --pid --fork --mount-proc].freeze

# Runs in the namespace. Prints a line a round: the pidfd's answers, and the signals received.
ROUNDS = <<~'RUBY'
  require "skep/os"
  $stdout.sync = true

  # A process that leads its group, records the signals that it receives, and exits on TERM.
  class Reuser
    attr_reader :pid

    def initialize
      @records, writer = IO.pipe
      @pid = fork { record_signals(writer) }
      writer.close
      @records.gets
    end

    # Returns its next record; nil after five seconds.
    def next_record = @records.wait_readable(5) && @records.gets.chomp

    # Ends it; returns the names of the other signals that it has received.
    def stop
      Process.kill(:TERM, @pid)
      Process.wait(@pid)
      @records.read.split
    ensure
      @records.close
    end

    private

    def record_signals(writer)
      Process.setpgrp
      %w[USR1 USR2].each { |name| trap(name) { writer.syswrite("#{name}\n") } }
      trap(:TERM) { exit!(0) }
      writer.syswrite("ready\n") # unbuffered: a trap handler may not wait for a lock
      IO.select(nil) while true
    end
  end

  # Returns the pidfd of a child that has ended and was reaped: its pid is free.
  def ended_child(reap)
    gate, release = IO.pipe
    pid = fork { release.close; gate.read; exit!(7) }
    pidfd = Skep.pidfd(pid)
    gate.close
    release.close
    reap.call(pidfd)
    pidfd
  end

  def reuser_of(pid)
    100.times do
      File.write(ARGV.first, (pid - 1).to_s)
      reuser = Reuser.new
      return reuser if reuser.pid == pid

      reuser.stop
    end
    abort "pid #{pid} was not reused"
  end

  def answer
    yield
    "sent"
  rescue SystemCallError => error
    error.class.name
  end

  reapers = [->(pidfd) { pidfd.wait(timeout: 5) }, ->(pidfd) { Process.wait(pidfd.pid) }]
  40.times do |round|
    pidfd = ended_child(reapers[round % 2])
    reuser = reuser_of(pidfd.pid)
    answers = [answer { pidfd.signal(:USR1) }, answer { pidfd.signal(:USR1, group: true) }]
    alive = [pidfd.alive?, Skep.pidfd(pidfd.pid).then { |its| its.alive?.tap { its.close } }]
    Process.kill(:USR2, pidfd.pid)
    record = reuser.next_record
    status = pidfd.wait(timeout: 5)&.exitstatus || "none"
    puts [*answers, *alive, status, record, *reuser.stop].join(" ")
    pidfd.close
  end
RUBY

def possible?
  File.writable?(SETTING) && system(*NAMESPACE, "true", err: File::NULL) == true
end

# Returns [signal, signal to the group, old one alive, new one alive, status, signals received...]
def play_rounds(pure)
  load_path = File.expand_path("../../load_path", __dir__)
  program = [RbConfig.ruby, "-w", "-r#{load_path}", "-e", ROUNDS, SETTING]
  out, err, status = Open3.capture3({ "SKEP_PURE" => pure }, *NAMESPACE, *program)
  fine = status.success? && err.empty? && out.lines.size == 40
  raise Scenario::Failed, "not 40 rounds: #{err}#{out}" unless fine

  out.lines.map(&:split)
end

Scenario.play do
  possible? or missing "root, a writable #{SETTING} and unshare(1), to make the kernel reuse a pid"
  { "C" => nil, "the fallback" => "1" }.each do |name, pure|
    next unless pure || Skep::OS::Pidfd.native?

    rounds = play_rounds(pure)
    signals, alive, statuses = rounds.map { |round| [round[0, 2], round[2, 2], round[4]] }.transpose
    must("raise ESRCH for each signal: #{signals}") { (signals - [["Errno::ESRCH"] * 2]).empty? }
    must("know old from new process: #{alive}") { (alive - [%w[false true]]).empty? }
    must("return the old status or none: #{statuses}") { (statuses - %w[7 none]).empty? }
    must("signal it by Process.kill only") { rounds.all? { |round| round.drop(5) == ["USR2"] } }
    puts "#{name}: of 40 reused pids Process.kill hit the new process 40 times, the pidfd never"
  end
end
