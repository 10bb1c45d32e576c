# frozen_string_literal: true

require "rbconfig"
require "skep/library_options"

module Skep
  module CLI
    module Doctor
      # Loads a file in a process of its own, which inspects itself with Fork::Guard.
      #
      #   Inspection.new("swarm.rb").run(60.0)   # => {"swarm" => "billing", "findings" => [{…}]}
      #
      # Raises Failed if the file can't be loaded, ends its process or takes too long. Its exit code
      # is that of `skep check` for the same file, and FAILED for what only the load shows. What it
      # prints goes to stderr. At the end the process is killed, with what it started in its group.
      class Inspection
        REPORT_FD = 3
        private_constant :REPORT_FD

        class Failed < Skep::Error
          attr_reader :exit_code

          def initialize(message, exit_code: ExitCode::FAILED)
            @exit_code = exit_code
            super(message)
          end
        end

        def initialize(file, arguments: [])
          @file = file
          @arguments = arguments
        end

        def run(seconds)
          reader, writer = IO.pipe
          pidfd = OS::Pidfd.open(spawn_process(writer))
          writer.close
          report = JSON.parse(read_line(reader, pidfd, OS.now + seconds) || failed(late(seconds)))
          return report unless report["refused"]

          raise Failed.new(report["refused"], exit_code: report["exit_code"])
        ensure
          finish(pidfd) if pidfd
          [reader, writer].each(&:close)
        end

        private

        def spawn_process(writer)
          Process.spawn(RbConfig.ruby, *LibraryOptions.to_a, "-rskep",
                        "-rskep/cli/doctor/inspected_process",
                        "-e", "Skep::CLI::Doctor::InspectedProcess.main", "--", @file, *@arguments,
                        in: File::NULL, out: $stderr.fileno, REPORT_FD => writer,
                        pgroup: true, close_others: true)
        end

        # Returns one line, or nil at the deadline. The file's own children may hold the pipe, so
        # its end isn't waited for.
        def read_line(reader, pidfd, deadline)
          text = +""
          until text.end_with?("\n")
            ready, = IO.select([reader, pidfd], nil, nil, [deadline - OS.now, 0].max)
            return unless ready

            piece = reader.read_nonblock(65_536, exception: false)
            piece.is_a?(String) ? text << piece : (failed(ended(pidfd)) if ready.include?(pidfd))
          end
          text
        end

        def failed(what) = raise(Failed, "#{@file}: #{what}")

        def late(seconds)
          "it was still loading after #{seconds.round(1)} s: name a file that loads the " \
            "application and ends, not one that runs it, or raise --timeout"
        end

        def ended(pidfd)
          status = pidfd.wait(timeout: 1)
          how = status&.signaled? ? "by SIG#{Signal.signame(status.termsig)}" : "by exit! or exec"
          "its process ended #{how} while it was loaded: see its output above"
        end

        def finish(pidfd)
          pidfd.signal(:KILL, group: true)
        rescue Errno::ESRCH, Errno::EPERM
          nil # no process is left
        ensure
          pidfd.wait
          pidfd.close
        end
      end
    end
  end
end
