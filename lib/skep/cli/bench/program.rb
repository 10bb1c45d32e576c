# frozen_string_literal: true

require "rbconfig"
require "tempfile"

# A program that measures in a process of its own, and prints its figures as JSON, on the last line
# of its stdout.
#
#   Program.run("puts 1.5")                                         # => 1.5, in a fresh Ruby
#   Program.run("file.rb", args: ["3"], ruby: ["-I", lib], env: {}, timeout: 60)
#   Program.run(["/tmp/tax", "1000"])                               # => any command
#
# The Ruby is bare: no RubyGems, no Bundler, nothing of skep's unless `ruby: Program::SKEP` puts it
# on the path. The program leads a process group, which is killed at the timeout and when we are
# interrupted.
module Skep
  module CLI
    class Bench
      class Program
        # What went wrong, in a sentence.
        class Failed < Skep::Error
        end

        SKEP = ["-I", File.expand_path("../../..", __dir__)].freeze
        BARE = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }.freeze
        TIMEOUT = 120.0
        private_constant :BARE, :TIMEOUT

        class << self
          # Returns what was parsed; raises Failed with the program's own words.
          #: (String | Array[String], ?args: Array[String], ?env: Hash[String, String?],
          #:   ?timeout: Float, ?ruby: Array[String]) -> untyped
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

        #: (Array[String], Hash[String, String?], Float) -> void
        def initialize(command, env, timeout)
          @command = command
          @env = { **BARE, **env }
          @timeout = timeout
        end

        def run #: () -> untyped
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

        # Until all that hold its stdout have ended; nil if that was too late.
        def read(reader)
          text = +""
          text << reader.readpartial(65_536) while reader.wait_readable(left)
          nil
        rescue EOFError
          text
        end

        def left = [@deadline - OS.now, 0.0].max

        # Its leader isn't reaped yet, so the group is still ours.
        def end_group(pidfd)
          pidfd.signal(:KILL, group: true)
          pidfd.wait
        rescue Errno::ESRCH # it ended this moment
          pidfd.wait
        end

        def fail_with(status, errors)
          raise Failed, "#{name} wasn't over after #{@timeout} s" unless status

          said = errors.lines.first.to_s.strip
          raise Failed, "#{name} ended with #{status.to_s.sub(/\Apid \d+ /, "")}: #{said}"
        end

        def name = File.basename(@command.first)
      end
    end
  end
end
