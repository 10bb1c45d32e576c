# frozen_string_literal: true

require "rbconfig"
require "tempfile"

# A program that measures in its own process, and prints its figures as JSON on the last line of
# stdout.
#
#   Program.run("puts 1.5")                                         # => 1.5, in a fresh Ruby
#   Program.run("file.rb", args: ["3"], ruby: ["-I", lib], env: {}, timeout: 60)
#   Program.run(["/tmp/tax", "1000"])                               # => any command
#
# The Ruby runs without RubyGems and Bundler, and without skep unless `ruby: Checkout.flags` adds
# it. The program leads a process group, which is killed at the timeout and after an interrupt.
module Skep
  module Benchmarks
    class Program
      # A failed program. The message is a sentence.
      class Failed < Skep::Error
      end

      BARE = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }.freeze
      TIMEOUT = 120.0
      private_constant :BARE, :TIMEOUT

      class << self
        # Returns the parsed figures. Raises Failed with the program's output.
        def run(program, args: [], env: {}, timeout: TIMEOUT, ruby: [])
          command = program.is_a?(Array) ? program : interpreted(program, ruby)
          new([*command, *args].map(&:to_s), env, timeout).run
        end

        private

        def interpreted(program, flags)
          source = program.end_with?(".rb") ? [program] : ["-e", program]
          [RbConfig.ruby, "--disable=gems", *flags, *source]
        end
      end

      def initialize(command, env, timeout)
        @command = command
        @env = { **BARE, **env }
        @timeout = timeout
      end

      def run
        Tempfile.create("skep-bench-") do |errors|
          text, status = output(errors.path)
          return JSON.parse(text.lines.last.to_s) if status&.success?

          fail_with(status, File.read(errors.path))
        end
      rescue JSON::ParserError
        raise Failed, "#{name} printed no figures"
      rescue Errno::ENOENT, Errno::EACCES => e
        raise Failed, "#{name} can't be run: #{e.message}"
      end

      private

      def output(errors)
        reader, writer = IO.pipe
        pidfd = Skep.pidfd(start(writer, errors))
        writer.close
        text = read(reader)
        status = pidfd.wait(timeout: left) if text
        [text, status]
      ensure
        end_group(pidfd) if pidfd && !status
        [reader, writer, pidfd].compact.each(&:close)
      end

      def start(out, err)
        @deadline = OS.now + @timeout
        Process.spawn(@env, *@command, in: File::NULL, out:, err:, pgroup: true)
      end

      # Reads until every process that holds its stdout has ended. Returns nil at the timeout.
      def read(reader)
        text = +""
        text << reader.readpartial(65_536) while reader.wait_readable(left)
        nil
      rescue EOFError
        text
      end

      def left = [@deadline - OS.now, 0.0].max

      # The leader isn't reaped yet, so the group id can't be reused.
      def end_group(pidfd)
        pidfd.signal(:KILL, group: true)
        pidfd.wait
      rescue Errno::ESRCH # it has just ended
        pidfd.wait
      end

      def fail_with(status, errors)
        raise Failed, "#{name} wasn't over after #{@timeout} s" unless status

        error = errors.lines.first.to_s.strip
        raise Failed, "#{name} ended with #{status.to_s.sub(/\Apid \d+ /, "")}: #{error}"
      end

      def name = File.basename(@command.first)
    end
  end
end
