# frozen_string_literal: true

require "fileutils"

# The right to a swarm's name on this host, held as a file lock:
# the kernel gives it back when the holder dies.
#
#   Lease.new("/run/skep/billing.sock").take   # or raises Lease::Taken or Lease::Unusable
#
# The lock lies beside the status socket, as PATH.lock; flock(2). Only the supervisor may hold it.
module Skep
  class Swarm
    class Lease
      class Taken < Skep::Error
        def initialize(path:, pid:)
          super("a swarm already runs with control path #{path}#{pid && " (pid #{pid})"}: " \
                "stop it with `skep stop`, or give this one another name or control path")
        end
      end

      class Unusable < Skep::Error
        def initialize(path:, error:)
          super("the control path #{path} can't be used, #{error}: " \
                "name a path in a directory that can be written to")
        end
      end

      def initialize(path) #: (String) -> void
        @path = path
      end

      def take #: () -> Lease
        FileUtils.mkdir_p(File.dirname(@path), mode: 0o755)
        raise Unusable.new(path: @path, error: "it is a directory") if File.directory?(@path)

        @file = File.open("#{@path}.lock", File::RDWR | File::CREAT, 0o600)
        raise Taken.new(path: @path, pid: holder) unless @file.flock(File::LOCK_EX | File::LOCK_NB)

        write
      rescue SystemCallError => e
        raise Unusable.new(path: @path, error: e.message.sub(/ @ .*/, "").downcase)
      end

      # Closes it without unlocking, in a process forked from the holder.
      def disown = @file&.close #: () -> void

      def release #: () -> void
        @file&.close # the file stays: unlinking it would let two others hold two locks of one name
      end

      private

      def holder = @file.read.to_i.nonzero?

      def write
        @file.truncate(0)
        @file.write(Process.pid.to_s)
        @file.flush
        self
      end
    end
  end
end
