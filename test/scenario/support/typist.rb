# frozen_string_literal: true

require "open3"

# Types commands, in a directory and an environment.
#
#   typist = Typist.new(directory, "PATH" => path)
#   typist.type("skep status")               # => what it prints; Typist::Refused if it fails
#   run = typist.start("skep run hello.rb")  # runs in the background
#   run.await(/node_ready/, times: 2)        # => the output up to there, or Typist::Late
#   run.enter("text")                        # a line of its input
#   run.interrupt                            # Ctrl-C; returns its Process::Status
#   run.ended                                # waits for its exit; returns the Process::Status
#   typist.close
class Typist
  SECONDS = 60.0

  class Refused < StandardError
  end

  class Late < StandardError
  end

  # A command in the background.
  class Run
    attr_reader :output

    def initialize(env, directory, command)
      @output = +""
      @reader, writer = IO.pipe
      input, @input = IO.pipe
      pid = Process.spawn(env, "bash", "-c", command, chdir: directory, in: input,
                                                      %i[out err] => writer, pgroup: true,
                                                      unsetenv_others: true)
      [writer, input].each(&:close)
      @pidfd = Skep.pidfd(pid)
    end

    def await(pattern, times: 1)
      deadline = Skep::OS.now + SECONDS
      until output.scan(pattern).size >= times
        @reader.wait_readable([deadline - Skep::OS.now, 0].max) or late(pattern)
        output << @reader.readpartial(65_536)
      end
      output
    rescue EOFError
      late(pattern)
    end

    def enter(line) = @input.puts(line)

    def interrupt
      @pidfd.signal(:INT, group: true)
      ended
    end

    def ended
      output << @reader.read
      @pidfd.wait(timeout: SECONDS) || late("its end")
    end

    def close
      @pidfd.signal(:KILL, group: true)
    rescue Errno::ESRCH
      nil
    ensure
      @pidfd.wait(timeout: SECONDS)
      [@pidfd, @reader, @input].each(&:close)
    end

    private

    def late(what) = raise(Late, "no #{what} within #{SECONDS} s, but:\n#{output}")
  end

  def initialize(directory, env)
    @directory = directory
    @env = env
    @runs = []
  end

  def type(command)
    output, status = Open3.capture2e(@env, "bash", "-c", command, chdir: @directory,
                                                                  unsetenv_others: true)
    status.success? ? output : raise(Refused, "#{command}: #{status}\n#{output}")
  end

  def start(command) = Run.new(@env, @directory, command).tap { |run| @runs << run }
  def close = @runs.each(&:close)
end
