# frozen_string_literal: true

# The base of all scenarios. A scenario is a whole program: it starts real swarms and makes things
# fail. Its exit code is the verdict: 0 passed, 77 skipped, anything else failed. `rake scenario`
# runs all files of this folder but `scenario.rb`.
#
#   require_relative "scenario"
#   Scenario.play do
#     swarm = run_swarm(<<~RUBY)
#       Skep.swarm "idle", nodes: 2 do |swarm|
#         swarm.work { |node| node.ready!; node.wait until node.stopping? }
#       end
#     RUBY
#     swarm.await("node_ready", times: 2)
#     must("end with 0") { swarm.stop.exitstatus == 0 }
#   end
require_relative "../../load_path"
require "skep"
require_relative "../support/default_signals"
require_relative "../support/means"
require_relative "../support/patience"
require "fileutils"
require "json"
require "open3"
require "tmpdir"

# A swarm whose nodes wait until they are asked to stop.
IDLE = <<~RUBY
  Skep.swarm "idle", nodes: 3, max_restarts: 1_000_000 do |swarm|
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

# For a swarm's source: `hang` locks a mutex twice, which blocks forever in C and keeps the GVL.
HANG = <<~'RUBY'
  require "fiddle"

  def hang
    lock = Fiddle::Function.new(Fiddle.dlopen(nil)["pthread_mutex_lock"], [Fiddle::TYPE_VOIDP],
                                Fiddle::TYPE_INT, need_gvl: true)
    mutex = Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE)
    mutex[0, 64] = "\0" * 64
    2.times { lock.call(mutex) }
  end

RUBY

# The events of a node's exit, expected or not.
GONE = %w[node_died node_exited].freeze

class Scenario
  class Failed < StandardError
  end

  class Skipped < StandardError
  end

  SECONDS = 30.0 # times Patience
  SKIPPED = 77 # as in Automake's tests

  # A `skep run` that the scenario started, followed by its log.
  class RunningSwarm
    SKEP = File.expand_path("../../skep/exe/skep", __dir__)

    attr_reader :pid, :events, :lines, :directory

    # skep: the program, if it isn't the checkout's. named: false runs `skep run` without a file in
    # the directory, where it finds swarm.rb.
    def initialize(source, directory, arguments: [], env: {}, before: nil, under: [], skep: SKEP,
                   named: true)
      @skep = skep
      @directory = directory
      @file = File.join(directory, "swarm.rb")
      File.write(@file, source) if source
      @errors = File.join(directory, "stderr")
      @events = []
      @lines = []
      @buffer = +""
      program = [*under, RbConfig.ruby, *(before && ["-e", "#{before}; load ARGV.shift"])]
      start(env, *program, skep, "run", *(@file if named), "--log-format", "json", *arguments,
            chdir: (directory unless named) || Dir.pwd)
    end

    # Returns the next event with this name, or one of these names, that satisfies the block and was
    # not awaited before. Fails at the deadline.
    def await(name, times: 1, seconds: SECONDS, &block)
      seconds = Patience.of(seconds)
      deadline = Skep::OS.now + seconds
      found = []
      loop do
        found.concat(take(name, times - found.size, block))
        return times == 1 ? found.first : found if found.size == times

        read(deadline) or
          raise Failed, "no #{name} (#{found.size} of #{times}) within #{seconds} s; #{account}"
      end
    end

    # Follows the log until the block returns true; calls it after each line and every 0.2 s.
    # Fails at the deadline. what: a sentence, or a block that returns one.
    def follow(what, seconds: SECONDS)
      seconds = Patience.of(seconds)
      deadline = Skep::OS.now + seconds
      until yield
        if Skep::OS.now > deadline
          what = what.call if what.respond_to?(:call)
          raise Failed, "not within #{seconds} s: #{what}; #{account}"
        end

        read([Skep::OS.now + 0.2, deadline].min)
      end
    end

    # Follows the log for so many seconds.
    def follow_for(seconds)
      deadline = Skep::OS.now + seconds
      nil while read(deadline)
    end

    def signal(name) = @pidfd.signal(name)

    def kill(pid, signal = :KILL)
      Skep.pidfd(pid).then { |pidfd| pidfd.signal(signal).tap { pidfd.close } }
    end

    def stop(signal = :TERM, seconds: SECONDS)
      signal(signal)
      wait(seconds:)
    end

    # Waits for its exit; returns the Process::Status.
    def wait(seconds: SECONDS)
      seconds = Patience.of(seconds)
      deadline = Skep::OS.now + seconds
      nil while read(deadline)
      @pidfd.wait(timeout: [deadline - Skep::OS.now, 0.1].max) or
        raise Failed, "still running after #{seconds} s; #{account}"
    end

    def stderr = File.read(@errors, encoding: "UTF-8")

    def status(name)
      client(name).call("status").fetch("status")
    end

    # Returns the events from the control socket; the caller closes them.
    def follow_socket(name)
      client(name).events
    end

    def client(name) = Skep::Control::Client.new(File.join(@directory, "#{name}.sock"))

    # Runs a command of skep on this swarm, such as ["scale", "4"]. Returns nil if it succeeded,
    # else its output.
    def skep(*arguments)
      output, status = command(*arguments)
      output unless status.success?
    end

    # The same for a command that must succeed. Returns its output.
    def output_of(*arguments)
      output, status = command(*arguments)
      status.success? ? output : raise(Failed, "skep #{arguments.join(" ")}: #{output}")
    end

    # Returns the lowest number of slots with a ready node, from when so many had one to the stop.
    def least_ready(nodes)
      ready = {}
      full = false
      events.take_while { |event| event["event"] != "swarm_stopping" }.filter_map do |event|
        ready[event["pid"]] = event["node"] if event["event"] == "node_ready"
        ready.delete(event["pid"]) if [*GONE, "node_became_mold"].include?(event["event"])
        slots = ready.values.uniq.size
        full ||= slots >= nodes
        slots if full
      end.min
    end

    def nodes
      events.select { |event| event["event"] == "node_forked" }.map { |event| event["pid"] }
    end

    # The last events come first: a report of it may be cut.
    def account
      facts = %w[event node pid signal reason message error]
      last = events.last(15).reverse.map { |event| event.values_at(*facts).compact.join(" ") }
      "#{"it has ended, " unless @pidfd.alive?}events, the last first: #{last}, " \
        "stderr: #{stderr.lines.first(12)}"
    end

    # Closes the reader of its log.
    def stop_reading = @reader.close

    # Reads one more piece of the log; false at the end or the deadline.
    def read(deadline)
      return false if @reader.closed? ||
                      !@reader.wait_readable([deadline - Skep::OS.now, 0].max)

      @buffer << @reader.readpartial(65_536)
      while (line = @buffer.slice!(/\A.*\n/))
        line.start_with?("{") ? @events << JSON.parse(line) : @lines << line.chomp
      end
      true
    rescue EOFError
      false
    end

    def close
      return if @pidfd.closed?

      Scenario.kill(@pidfd)
      [@pidfd, @reader].each(&:close)
    end

    # The same for any. Returns its output and its status.
    def command(*arguments)
      Open3.capture2e({ "SKEP_RUN_DIR" => @directory }, RbConfig.ruby, @skep, *arguments)
    end

    private

    def start(env, *command, chdir:)
      @reader, writer = IO.pipe
      @pid = Process.spawn({ "SKEP_RUN_DIR" => @directory, **env }, *command,
                           out: writer, err: [@errors, "a"], pgroup: true, chdir:)
      writer.close
      @pidfd = Skep.pidfd(@pid)
    end

    def take(name, count, block)
      @taken ||= {}.compare_by_identity
      found = @events.select do |event|
        Array(name).include?(event["event"]) && !@taken[event] && (!block || block.call(event))
      end
      found.first(count).each { |event| @taken[event] = true }
    end
  end

  def self.play(&block)
    Dir.mktmpdir("skep-scenario") { |directory| new.play(directory, &block) }
    puts "ok #{File.basename($PROGRAM_NAME, '.rb')}"
  rescue Skipped => e
    puts "skipped #{File.basename($PROGRAM_NAME, '.rb')}: #{e.message}"
    exit SKIPPED
  rescue Failed => e
    warn "FAILED #{File.basename($PROGRAM_NAME, '.rb')}: #{e.message}"
    exit 1
  rescue StandardError => e # its message last, where it is read
    warn e.full_message(highlight: false, order: :bottom)
    exit 1
  end

  # Kills a process, unless it has just ended, and waits for its exit.
  def self.kill(pidfd, group: false)
    pidfd.signal(:KILL, group:)
  rescue Errno::ESRCH
    nil
  ensure
    pidfd.wait(timeout: Patience.of(SECONDS))
  end

  attr_accessor :directory

  def play(directory, &block)
    self.directory = directory
    instance_eval(&block)
    finish
  ensure
    clean_up
  end

  # before: Ruby code that the supervisor's process runs before skep's own. under: a command that
  # runs it. prepare: called with the directory.
  def run_swarm(source, in_directory: nil, prepare: nil, **how)
    place = in_directory ||
            File.join(directory, "swarm#{@count = @count.to_i + 1}").tap { |path| Dir.mkdir(path) }
    prepare&.call(place)
    RunningSwarm.new(source, place, **how).tap { |swarm| swarms << swarm }
  end

  # Returns skep's program in a copy that every user may read: the checkout may be in a folder that
  # only its owner may enter. Opens this scenario's folder to all users.
  def public_skep
    @public_skep ||= begin
      place = File.join(directory, "code").tap { |path| Dir.mkdir(path) }
      root = File.expand_path("../..", __dir__)
      FileUtils.cp_r(Dir["#{root}/{skep*,load_path.rb}"], place)
      FileUtils.chmod_R("a+rX", place)
      File.chmod(0o755, directory)
      File.join(place, "skep/exe/skep")
    end
  end

  def swarms = @swarms ||= []

  # Ends the scenario as skipped: the feature doesn't exist here (another Ruby, no C extension).
  def skip(reason) = raise(Skipped, reason)

  # Ends the scenario as skipped, or as failed if the machine promises to have this (Means).
  def missing(what)
    raise Failed, "this machine lacks what it promises: #{what}" if Means.promised?

    skip(what)
  end

  def must(what)
    raise Failed, "it must #{what}" unless yield
  end

  # Returns the pids of the nodes that are ready, as far as the log was read.
  def ready_pids(swarm)
    ready, gone = [%w[node_ready], GONE].map do |names|
      swarm.events.filter_map { |event| event["pid"] if names.include?(event["event"]) }
    end
    ready - gone
  end

  # Without the C extension no node can become the mold: `refork_after: 30` is ignored.
  def must_ignore_refork_after(swarm)
    swarm.await("option_ignored") { |event| event["error"].include?("refork_after") }
    pids = swarm.await("node_ready", times: 3).map { |event| event["pid"] }
    name = swarm.events.first["swarm"]
    swarm.follow("each node has processed enough") do
      swarm.status(name)["nodes"].all? { |node| node["work"]["done"] > 60 }
    end
    nodes = swarm.status(name)["nodes"].map { |node| node["pid"] }
    must("keep its nodes: #{swarm.account}") { nodes.sort == pids.sort }
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  end

  # Waits for the exit of processes that aren't children of this one.
  def await_exit(pids, seconds: 10.0)
    seconds = Patience.of(seconds)
    pids.each do |pid|
      pidfd = Skep.pidfd(pid)
      pidfd.wait(timeout: seconds) or
        raise Failed, "process #{pid} is still there after #{seconds} s: #{command_line(pid)}"
    rescue Errno::ESRCH
      next
    ensure
      pidfd&.close
    end
  end

  # Empty for a process that has ended.
  def command_line(pid)
    File.read("/proc/#{pid}/cmdline").tr("\0", " ")
  rescue Errno::ENOENT, Errno::ESRCH
    ""
  end

  # Waits until these processes have reaped all their dead children.
  def no_zombie(swarm, parents)
    swarm.follow("no zombie is left") { zombies_of(parents).empty? }
  end

  # Returns the zombies among the children of these processes.
  def zombies_of(parents)
    Dir.glob("/proc/[0-9]*/stat").select do |path|
      state, parent = File.read(path).match(/\) (\S) (\d+)/)&.captures
      state == "Z" && parents.include?(parent.to_i)
    rescue Errno::ENOENT, Errno::ESRCH # it has just ended
      false
    end
  end

  # Returns the pids of all processes that have the swarm's directory in their environment: the
  # supervisor and all that it has started.
  def started_by(swarm)
    Dir.glob("/proc/[0-9]*/environ").filter_map do |path|
      path[/\d+/].to_i if File.binread(path).include?("SKEP_RUN_DIR=#{swarm.directory}\0")
    rescue SystemCallError # it has just ended
      next
    end
  end

  # Waits until no process of the swarm is left.
  def nothing_left(swarm, where = "at the end")
    deadline = Skep::OS.now + Patience.of(SECONDS)
    until (left = started_by(swarm)).empty?
      must("leave no process, not #{left}: #{where}") { Skep::OS.now < deadline }
      await_exit(left.first(1))
    end
  end

  # Returns the process that a mold has forked ahead; waits until there is one.
  def preforked(swarm, mold)
    swarm.follow("a process forked ahead") { forked_ahead(mold).any? }
    must("fork only one process ahead: #{forked_ahead(mold)}") { forked_ahead(mold).one? }
    forked_ahead(mold).first
  end

  def forked_ahead(mold)
    Dir.glob("/proc/[0-9]*/stat").select do |path|
      File.read(path)[/\) \S (\d+)/, 1].to_i == mold &&
        File.read(path.sub(/stat$/, "cmdline")).match?(/\Askep \S+ preforked /)
    rescue Errno::ENOENT, Errno::ESRCH # it has just ended
      false
    end.map { |path| path[/\d+/].to_i }
  end

  # Kills the process that was forked ahead, so that the next node needs a fork.
  def kill_preforked(swarm, mold)
    swarm.kill(preforked(swarm, mold))
    swarm.follow("no process is forked ahead") { forked_ahead(mold).empty? }
  end

  # Sets a soft limit of a running process with prlimit(1); returns the old value.
  def limit(pid, name, most)
    called = { "nofile" => "open files", "as" => "address space" }.fetch(name)
    before = File.read("/proc/#{pid}/limits")[/^Max #{called}\s+(\S+)/, 1]
    system("prlimit", "--pid", pid.to_s, "--#{name}=#{most}:") or raise Failed, "prlimit failed"
    before
  end

  # Runs the block at the end, whatever the verdict.
  def at_end(&block) = (@at_end ||= []).push(block)

  def clean_up
    swarms.each(&:close)
    @at_end&.pop&.call while @at_end&.any?
  end

  # No process of the scenario may be left at the end.
  def finish
    clean_up
    left = Dir.glob("/proc/self/task/*/children")
              .flat_map { |path| File.read(path).split.map(&:to_i) }
    raise Failed, "children left: #{left}" if left.any?
  end
end
