# frozen_string_literal: true

require "io/wait"
require "rbconfig"
require "support/patience"

# Helpers for tests of processes, included in Skep::TestCase. Each wait has a deadline.
#
#   pid, reader = in_child { |w| w.puts "up"; exit 3 }
#   wait_readable(reader).gets                           # "up"; EOF means that the child is dead
#   stdout, stderr, status = run_program("puts 1")       # a fresh Ruby with lib on its path
module Processes
  class TooLate < StandardError
  end

  ROOT = File.expand_path("../..", __dir__)
  PATIENCE = 10
  VOLLEY = 200 # signals
  # With these variables each Ruby that is started loads Bundler, which takes 0.2 s of processor
  # time. Tests start hundreds of programs, most of which need no gem.
  BUNDLER = ENV.to_h.slice("RUBYOPT", "BUNDLER_SETUP").freeze
  BUNDLER.each_key { |name| ENV.delete(name) }
  private_constant :ROOT, :PATIENCE, :VOLLEY

  # Returns the time so many seconds from now, on the monotonic clock.
  def deadline(seconds) = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds

  # Returns the seconds until a deadline; 0 if it has passed.
  def seconds_until(deadline) = [deadline - deadline(0), 0.0].max

  # Asserts that the block takes at least `least` seconds each time, and at most `most` in one of
  # several runs: on a busy machine a single run may take longer.
  def assert_takes(least, most:)
    over = deadline(PATIENCE)
    begin
      began = deadline(0)
      yield
      taken = deadline(0) - began
      assert_operator taken, :>=, least
    end until taken <= most || seconds_until(over).zero?
    assert_operator taken, :<=, most
  end

  # Returns io when there is something to read, EOF included; fails the test when there isn't.
  def wait_readable(io, seconds = PATIENCE)
    seconds = Patience.of(seconds)
    io.wait_readable(seconds) or raise TooLate, "nothing to read in #{seconds} s from #{io.inspect}"
    io
  end

  # Forks a child that runs the block with the write end of a pipe, and ends without at_exit: with
  # status 0, that of its `exit`, or 1 when it raised. The pipe is closed after the test; the test
  # must wait for the child.
  def in_child(&block)
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      exit!(status_of(writer, &block))
    end
    writer.close
    readers << reader
    [pid, reader]
  end

  # Runs the block while another process sends signals in volleys, as fast as it can. It sends a
  # volley once the last was handled: otherwise they may leave no time for the block.
  def under_signals
    handled, handler = IO.pipe
    previous = trap(:USR1) { handler.write_nonblock(".", exception: false) }
    storm = volleys(handled, handler)
    yield
  ensure
    Process.kill(:KILL, storm)
    Process.wait(storm)
    trap(:USR1, previous || "DEFAULT")
    [handled, handler].each(&:close)
  end

  # Runs Ruby source, or a file of it, in a fresh process that leads a group of its own; returns
  # when it and all that hold its output have ended. At the timeout the whole group is killed and
  # the test fails. `gems: true` gives it this process's load path; `gems: :bundler` also loads
  # RubyGems and Bundler, which takes longer.
  def run_program(program, args = [], env: {}, timeout: 30, gems: false)
    source = File.file?(program) ? [program] : ["-e", program]
    bare = "--disable=gems" unless gems == :bundler
    run_command({ **gems_by(gems), **env }, RbConfig.ruby, *bare, "-w", "-r#{ROOT}/load_path",
                *source, *args.map(&:to_s), timeout:)
  end

  # The same for any command. It inherits this environment, without the variables of Bundler.
  def run_command(env, *command, timeout:)
    timeout = Patience.of(timeout)
    pipes = Array.new(2) { IO.pipe }
    pid = spawn_on(pipes.map(&:last), env, command)
    texts = read_all(pipes.map(&:first), deadline(timeout))
    over = texts.all?(&:frozen?)
    Process.kill(:KILL, -pid) unless over # its leader is unreaped, so the group exists
    status = Process.wait2(pid).last
    over or raise TooLate, "not over after #{timeout} s: #{command.join(" ")}\n#{texts.join("\n")}"
    [*texts, status]
  ensure
    pipes&.flatten&.each(&:close)
  end

  def after_teardown
    readers.each(&:close)
  ensure
    super
  end

  private

  def gems_by(way)
    case way
    when true then { "RUBYLIB" => $LOAD_PATH.join(File::PATH_SEPARATOR) }
    when :bundler then BUNDLER
    else {}
    end
  end

  # Forks a child that sends them to this process, and returns its pid.
  def volleys(handled, handler)
    target = Skep.pidfd(Process.pid)
    in_child do
      handler.close # so that it ends with this process
      loop { VOLLEY.times { target.signal(:USR1) } && handled.readpartial(65_536) }
    end.first
  ensure
    target.close
  end

  def readers = @readers ||= []

  def spawn_on(outputs, env, command)
    out, err = outputs
    spawn(env, *command, in: File::NULL, out:, err:, pgroup: true).tap { outputs.each(&:close) }
  end

  # Returns the exit status of a child of in_child.
  def status_of(writer)
    yield writer
    0
  rescue SystemExit => e
    e.status
  rescue Exception => e # the child must not return into the parent's test
    $stderr.write(e.full_message)
    1
  end

  # Returns what can be read of each IO by then, frozen if its end was reached.
  def read_all(ios, by)
    texts = ios.to_h { |io| [io, String.new] }
    while (open = texts.reject { |_, text| text.frozen? }.keys).any?
      readable, = IO.select(open, nil, nil, seconds_until(by))
      break unless readable

      readable.each { |io| texts[io] = read_some(io, texts[io]) }
    end
    texts.values
  end

  def read_some(io, text)
    text << io.readpartial(65_536)
  rescue EOFError
    text.force_encoding(Encoding::UTF_8).freeze
  end
end
