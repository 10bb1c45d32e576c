# frozen_string_literal: true

require "io/wait"

# A process that runs a swarm. Its state is known from the events of its log.
#
#   swarm = RunningSwarm.new(env, command)
#   swarm.await("node_ready")["pid"]
#   swarm.follow(0.5)              # reads the log for so many seconds
#   swarm.signal(:TERM)
#   swarm.wait
class RunningSwarm
  SECONDS = 60.0
  private_constant :SECONDS

  attr_reader :pid

  def initialize(env, command, **options)
    @log, out = IO.pipe
    @pid = Process.spawn(env, *command, out:, err: out, **options)
    @events = []
    @lines = []
    out.close
  end

  # Returns the next event that has one of these names and for which the block is true. Drops the
  # events before it.
  def await(*names)
    deadline = now + SECONDS
    loop do
      read(deadline) if @events.empty?
      event = @events.shift or raise "no #{names.first} within #{SECONDS} s: #{last_lines}"
      return event if names.include?(event["event"]) && (!block_given? || yield(event))
    end
  end

  # Reads the log for so many seconds; `await` returns the events later.
  def follow(seconds)
    deadline = now + seconds
    nil while read(deadline)
  end

  def last_lines = @lines.last(20).join

  def signal(name) = Process.kill(name, pid)

  # Returns once the process has ended.
  def wait
    @log.read
    Process.wait(pid)
    @log.close
  end

  private

  # Reads until there is another event. Returns false at the deadline, or at the end of the log.
  def read(deadline)
    while @log.wait_readable([deadline - now, 0].max)
      line = @log.gets
      raise "the swarm has ended: #{last_lines}" unless line

      @lines << line
      return @events << JSON.parse(line) if line.start_with?("{")
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
