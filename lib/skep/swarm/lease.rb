# frozen_string_literal: true

require "fileutils"

# The right to a swarm's name on this host, held as a file lock:
# the kernel gives it back when the holder dies, whoever it has forked.
#
#   Lease.new("/run/skep/billing.sock").take   # or raises Lease::Taken or Lease::Unusable
#
# The lock lies beside the status socket, as PATH.lock (OS::FileLock). Only the supervisor may hold
# it. As the lock is one of processes, what this process holds already is remembered here.
module Skep
  class Swarm
    class Lease
      class Taken < Skep::Error
        def initialize(path:, pid:)
          super("a swarm already runs with control path #{path}#{pid && " (pid #{pid})"}: " \
                "stop it with `skep stop`, or give this one another name or control path")
        end

        def exit_code = ExitCode::CONFIGURATION #: () -> Integer
      end

      class Unusable < Skep::Error
        def initialize(path:, error:)
          super("the control path #{path} can't be used, #{error}: " \
                "name a path in a directory that can be written to")
        end

        def exit_code = ExitCode::CONFIGURATION #: () -> Integer
      end

      @held = {} # by which process each lock file is held: a fork has the memory, not the lock

      class << self
        def holds?(file) = @held[file] == Process.pid #: (untyped) -> bool
        def hold(file) = @held[file] = Process.pid #: (untyped) -> void
        def drop(file) = @held.delete(file) #: (untyped) -> void
      end

      def initialize(path) #: (String) -> void
        @path = path
        @lock = "#{path}.lock"
      end

      def take #: () -> Lease
        FileUtils.mkdir_p(File.dirname(@path), mode: 0o755)
        raise Unusable.new(path: @path, error: "it is a directory") if File.directory?(@path)

        occupy
        write
      rescue SystemCallError => e
        raise Unusable.new(path: @path, error: e.message.sub(/ @ .*/, "").downcase)
      end

      def to_io = @file #: () -> File

      # Goes on with the lock, which this process has already.
      def resume(file) #: (File) -> Lease
        @file = file
        Lease.hold(@identity = identity)
        self
      end

      # Closes it without unlocking, in a process forked from the holder.
      def disown = @file&.close #: () -> void

      # The file stays: unlinking it would let two others hold two locks of one name.
      def release #: () -> void
        @file&.close
        Lease.drop(@identity)
      end

      private

      # Before it is opened: to close it would let go of the lock that we have.
      def occupy
        ours = File.exist?(@lock) && Lease.holds?(identity)
        raise Taken.new(path: @path, pid: Process.pid) if ours

        @file = File.open(@lock, File::RDWR | File::CREAT, 0o600)
        refuse unless OS::FileLock.take(@file)
        Lease.hold(@identity = identity)
      end

      def refuse
        holder = OS::FileLock.holder(@file) || @file.read.to_i.nonzero?
        @file.close
        raise Taken.new(path: @path, pid: holder)
      end

      # Two names of one file are one.
      def identity = File.stat(@lock).then { |stat| [stat.dev, stat.ino] }

      def write
        @file.truncate(0)
        @file.write(Process.pid.to_s)
        @file.flush
        self
      end
    end
  end
end
