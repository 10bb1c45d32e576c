# frozen_string_literal: true

# The file with a supervisor's pid, for monit, Capistrano and the like: `skep run --pidfile PATH`.
#
#   pidfile = Pidfile.new("/run/billing.pid")
#   pidfile.take       # writes it, or raises PidfileTaken or PidfileUnusable
#   pidfile.release    # removes it
#
# The supervisor holds a lock on it, flock(2), which the kernel releases when it ends. So a file
# without a lock is stale, whatever pid is in it, and is replaced.
module Skep
  module CLI
    class Pidfile < Swarm::Supervisor::Observer
      # Another supervisor holds it.
      class PidfileTaken < Skep::Error
        def initialize(path:, pid:)
          super("the pidfile #{path} belongs to a running supervisor#{" (pid #{pid})" if pid}: " \
                "stop that, or name another pidfile")
        end

        def exit_code = ExitCode::CONFIGURATION
      end

      # It can't be written, or is no pidfile.
      class PidfileUnusable < Skep::Error
        def initialize(path:, error:)
          super("can't use the pidfile #{path}, #{error}: name another path")
        end

        def exit_code = ExitCode::CONFIGURATION
      end

      PID = /\A\s*\d*\s*\z/
      MOST = 32 # bytes of a pidfile
      private_constant :PID, :MOST

      def initialize(path)
        super()
        @path = File.expand_path(path)
      end

      def take
        file = open_file
        locked = file.flock(File::LOCK_EX | File::LOCK_NB)
        raise PidfileTaken.new(path: @path, pid: pid_in(file)) unless locked

        refuse("it is another file: its content is no pid") unless pid_in(file)
        write(file)
        @file = file
      rescue SystemCallError => e
        refuse(e.message.sub(/ @ .*/, "").downcase)
      ensure
        file&.close unless @file
      end

      def release
        return unless @file

        File.unlink(@path) if File.identical?(@path, @file)
      rescue SystemCallError # its directory is read-only by now
        nil
      ensure
        @file&.close
        @file = nil
      end

      # As an observer of the supervisor.

      def configured(_supervisor) = take
      def on_close = release
      def close_in_child = @file&.close

      private

      # Never through a link that another user may have put there.
      def open_file
        file = File.open(@path, File::RDWR | File::CREAT | File::NOFOLLOW | File::NONBLOCK, 0o644)
        return file if file.stat.file?

        file.close
        refuse("it is no regular file")
      end

      # Returns the pid in the file, "" if it is empty, nil if its content is no pid.
      def pid_in(file)
        text = file.pread(MOST, 0)
        text.strip if text.match?(PID)
      rescue EOFError
        ""
      end

      # Never empty in between: a reader finds the old pid or the new one.
      def write(file)
        text = "#{Process.pid}\n"
        file.pwrite(text, 0)
        file.truncate(text.bytesize)
      end

      def refuse(error) = raise(PidfileUnusable.new(path: @path, error:))
    end
  end
end
