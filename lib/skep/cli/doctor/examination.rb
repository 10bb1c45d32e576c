# frozen_string_literal: true

require "rbconfig"

module Skep
  module CLI
    class Doctor < Command
      # Loads a file in a process of its own, and has the guard look at that.
      #
      #   Examination.new("swarm.rb").run(60.0)   # => {"swarm" => "billing", "findings" => [{…}]}
      #
      # Raises Failed for a file that can't be loaded, ends its process or isn't done in time. What
      # it prints goes to stderr. It is killed at the end, with what it started in its group.
      class Examination
        LIBRARY = File.expand_path("../../..", __dir__)
        REPORT_FD = 3
        private_constant :LIBRARY

        class Failed < Skep::Error
        end

        #: (String file, ?arguments: Array[String]) -> void
        def initialize(file, arguments: [])
          @file = file
          @arguments = arguments
        end

        #: (Numeric seconds) -> Hash[String, untyped]
        def run(seconds)
          reader, writer = IO.pipe
          pidfd = OS::Pidfd.open(start(writer))
          writer.close
          report = JSON.parse(listen(reader, pidfd, OS.now + seconds) || failed(late(seconds)))
          report["refused"] ? raise(Failed, report["refused"]) : report
        ensure
          finish(pidfd) if pidfd
          [reader, writer].each(&:close)
        end

        private

        #: (IO writer) -> Integer
        def start(writer)
          Process.spawn(RbConfig.ruby, "-I", LIBRARY, "-rskep", "-rskep/cli/doctor/patient",
                        "-e", "Skep::CLI::Doctor::Patient.main", "--", @file, *@arguments,
                        in: File::NULL, out: $stderr.fileno, REPORT_FD => writer,
                        pgroup: true, close_others: true)
        end

        # One line, or nil at the deadline. Others may hold the pipe, so its end isn't waited for.
        #
        #: (IO, OS::Pidfd, Float deadline) -> String?
        def listen(reader, pidfd, deadline)
          text = +""
          until text.end_with?("\n")
            ready, = IO.select([reader, pidfd], nil, nil, [deadline - OS.now, 0].max)
            return unless ready

            piece = reader.read_nonblock(65_536, exception: false)
            piece.is_a?(String) ? text << piece : (failed(ended(pidfd)) if ready.include?(pidfd))
          end
          text
        end

        #: (String) -> bot
        def failed(what) = raise(Failed, "#{@file}: #{what}")

        #: (Numeric seconds) -> String
        def late(seconds)
          "it wasn't done after #{seconds.round(1)} s: name a file that loads the application " \
            "and comes to its end, not one that runs it, or give it longer by --timeout"
        end

        #: (OS::Pidfd) -> String
        def ended(pidfd)
          status = pidfd.wait(timeout: 1)
          how = status&.signaled? ? "by SIG#{Signal.signame(status.termsig)}" : "by exit! or exec"
          "its process ended #{how} while it was loaded: what stands above may tell why"
        end

        #: (OS::Pidfd) -> void
        def finish(pidfd)
          pidfd.signal(:KILL, group: true)
        rescue Errno::ESRCH, Errno::EPERM
          nil # Nobody is left.
        ensure
          pidfd.wait
          pidfd.close
        end
      end
      private_constant :Examination
    end
  end
end
