# frozen_string_literal: true

# How many files of lib/skep/swarm are passed on four ways through a swarm, by all of its processes:
#
#   ruby test/journeys/journeys.rb [LIB]     # LIB: another checkout's lib, to compare with
#
# Each way is gone several times; a file counts that was entered in any of them. Only the breach has
# a memory_limit: with one, young nodes are looked at several times a second, whatever else goes on.
require "io/wait"
require "json"
require "rbconfig"
require "tmpdir"

class Journeys
  TIMES = 3
  PATIENCE = 60.0
  IDLE = 0.5 # seconds
  ROOT = File.expand_path("../..", __dir__)
  BREACH = "a memory limit's breach to the node replaced"
  SWARM = <<~RUBY
    Skep.swarm "journeys", nodes: 2, restarts: 1_000, memory_limit: ENV["LIMIT"] do |swarm|
      swarm.work do |child|
        child.ready!
        until child.stopping?
          $kept = "x" * (150 << 20) if File.exist?("\#{__dir__}/grow") && child.id.zero? && !$kept
          child.wait(0.05)
        end
      end
    end
  RUBY
  private_constant :TIMES, :PATIENCE, :IDLE, :ROOT, :BREACH, :SWARM

  def initialize(lib) = @lib = File.expand_path(lib)

  def run
    { "a node's death to its replacement's readiness" => method(:death),
      BREACH => method(:breach),
      "HUP to all nodes new" => method(:reload),
      "TERM to the supervisor's end" => method(:stop) }.each do |name, way|
      @limit = ("120M" if name == BREACH)
      files = Array.new(TIMES) { passed(&way) }.reduce(:|)
      puts format("%3d files  %s", files.size, name)
      puts files.sort.map { |file| "           #{file}" } if ENV["VERBOSE"]
    end
  end

  private

  # The files that were entered meanwhile: the way returns from when to when.
  def passed
    Dir.mktmpdir("skep-journey") do |folder|
      @folder = folder
      start
      from, to = yield
      finish
      files_between(from, to)
    end
  end

  def start
    File.write("#{@folder}/swarm.rb", SWARM)
    Dir.mkdir("#{@folder}/trace")
    env = { "SKEP_JOURNEY" => "#{@folder}/trace", "SKEP_JOURNEY_LIB" => @lib,
            "RUBYOPT" => "-r#{__dir__}/trace.rb", "SKEP_RUN_DIR" => @folder, "LIMIT" => @limit }
    @log, out = IO.pipe
    @pid = Process.spawn(env, RbConfig.ruby, "-I#{@lib}", "#{@lib}/../exe/skep", "run",
                         "#{@folder}/swarm.rb", "--log-format", "json", out:, err: out)
    out.close
    @nodes = Array.new(2) { await("node_ready")["pid"] }
    @log.wait_readable(IDLE) # the mold forks a child ahead: that belongs to the boot
  end

  def finish
    Process.kill(:TERM, @pid) unless @ended
    @log.read
    Process.wait(@pid) unless @ended
    @log.close
    @ended = false
  end

  def death
    from = now
    Process.kill(:KILL, @nodes.first)
    [from, await("node_ready")["mono"]]
  end

  # The look that finds it comes a moment before it is told.
  def breach
    File.write("#{@folder}/grow", "")
    from = await("node_over_limit")["mono"] - 0.02
    [from, await("node_replaced")["mono"]]
  end

  def reload
    from = now
    Process.kill(:HUP, @pid)
    [from, await("reload_finished", "reload_#{"done"}")["mono"]]
  end

  def stop
    from = now
    Process.kill(:TERM, @pid)
    Process.wait(@pid)
    @ended = true
    [from, now]
  end

  def await(*names)
    loop do
      @log.wait_readable(PATIENCE) or raise "no #{names.first} came within #{PATIENCE} s"
      line = @log.gets or raise "no #{names.first} came"
      event = JSON.parse(line) if line.start_with?("{")
      return event if event && names.include?(event["event"])
    end
  end

  def files_between(from, to)
    Dir["#{@folder}/trace/*"].flat_map { |file| File.readlines(file, chomp: true) }
                             .map { |line| line.split(" ", 2) }
                             .select { |at, _| at.to_f.between?(from, to) }
                             .map(&:last).grep(%r{\Aswarm[/.]}).uniq
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

Journeys.new(ARGV.fetch(0, "#{File.expand_path("../..", __dir__)}/lib")).run
