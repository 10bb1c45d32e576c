# frozen_string_literal: true

require "socket"

# Holds a swarm's name on this host as a file lock, flock(2). The kernel releases it when the
# supervisor dies: programs that it starts don't have the file, and its forks close it.
#
#   NameLock.new("/run/skep/billing.sock").take   # or raises NameTaken or PathUnusable
#
# The lock lies beside the control socket, as PATH.lock. Only the supervisor may hold it. It has the
# supervisor's pid and, with `socket: false`, that there is no socket:
#
#   NameLock.without_socket("/run/skep/billing.sock")   # => the pid of such a swarm, or nil
#
# A cleaner may remove the lock of a running swarm. So a lock that was free is not enough: while a
# process answers at the control socket, the name is taken. `restore` makes the removed file again.
module Skep
  class Swarm
    class Supervisor
      class NameLock
        RunDirectory = Definition::RunDirectory
        PathUnusable = RunDirectory::PathUnusable
        NO_SOCKET = "without a control socket"
        private_constant :RunDirectory, :PathUnusable, :NO_SOCKET

        class NameTaken < Skep::Error
          def initialize(path:, pid:)
            super("a swarm already runs with control path #{path}#{pid && " (pid #{pid})"}: " \
                  "stop it with `skep stop`, or give this one another name or control path")
          end

          def exit_code = ExitCode::CONFIGURATION
        end

        # Never takes the lock to find out: a swarm that starts at that moment would be refused.
        def self.without_socket(path)
          flags = File::RDONLY | File::NOFOLLOW | File::NONBLOCK
          text = File.open("#{path}.lock", flags) { |file| file.read(64) }
          pid = text.to_s[/\A(\d+) #{NO_SOCKET}\z/o, 1]&.to_i
          pid if pid && alive?(pid)
        rescue SystemCallError # there is no such lock, or it isn't readable
          nil
        end

        def self.alive?(pid)
          pidfd = OS::Pidfd.open(pid)
          pidfd.alive?
        ensure
          pidfd&.close
        end

        # directory: the socket's, to be checked; it may be a symbolic link where none is given.
        def initialize(path, directory: nil, socket: true)
          @path = path
          @socket = socket
          @lock = "#{path}.lock"
          @directory = directory || RunDirectory.new(File.dirname(path), named: true)
        end

        def take
          @directory.use
          raise PathUnusable.new(path: @path, error: "it is a directory") if File.directory?(@path)

          guard { occupy }
          refuse_beside_a_living_one
          write
          self
        end

        # Takes the lock again if its file was removed, or replaced by one that no process holds.
        # Returns true if the name is locked by its file.
        def restore
          return true if @identity == identity

          kept, before = @file, @identity
          occupy
          write
          kept.close
          true
        rescue Skep::Error, SystemCallError # another holds it; the socket still keeps the name
          @file, @identity = kept, before
          false
        end

        # Closes it without unlocking, in a process forked from the holder.
        def close_in_child = @file&.close

        # The file stays: unlinking it would let two others hold two locks of one name.
        def release
          return if @file.nil? || @file.closed?

          @file.truncate(0) unless @socket # the program that ran the swarm may live on
          @file.flock(File::LOCK_UN) # for forks that have the file open, too
          @file.close
        end

        private

        def guard
          yield
        rescue Errno::ELOOP
          raise PathUnusable.new(path: @path, error: "#{@lock} is a symbolic link",
                                 advice: "remove that")
        rescue SystemCallError => e
          unavailable = e.is_a?(Errno::EROFS) || !File.exist?(@lock)
          raise (unavailable ? RunDirectory::Unavailable : PathUnusable)
            .new(path: @path, error: e.message.sub(/ @ .*/, "").downcase)
        end

        # A file that was removed before it could be locked is no lock: it is tried once more.
        def occupy
          @file = open_lock
          refuse unless @file.flock(File::LOCK_EX | File::LOCK_NB)
          @identity = identity_of(@file.stat)
          return if @identity == identity

          @file.close
          occupy
        end

        # Never through a link, and never a file that another user has put there.
        def open_lock
          flags = File::RDWR | File::NOFOLLOW | File::NONBLOCK
          file = begin
            File.open(@lock, flags | File::CREAT | File::EXCL, 0o600)
          rescue Errno::EEXIST
            File.open(@lock, flags)
          end
          stat = file.stat
          return file if stat.file? && stat.nlink < 2 && RunDirectory.trusted?(stat)

          file.close
          raise PathUnusable.new(path: @path, error: "#{@lock} wasn't made by skep",
                                 advice: "remove that")
        rescue Errno::ENOENT # removed between the two
          retry
        end

        def refuse
          holder = @file.read.to_i.nonzero?
          @file.close
          raise NameTaken.new(path: @path, pid: holder)
        end

        def refuse_beside_a_living_one
          pid = listener or return
          release
          raise NameTaken.new(path: @path, pid: (pid if pid.positive?))
        end

        # The pid of the process that listens at the control socket, 0 where that is unknown; nil if
        # none does. A socket may outlive the process that opened it, in a fork of it, as a
        # leftover.
        def listener
          Socket.open(:UNIX, :STREAM) do |socket|
            socket.connect_nonblock(Socket.sockaddr_un(@path))
            pid = socket.getsockopt(:SOCKET, :PEERCRED).unpack("l").first
            pid if pid.zero? || NameLock.alive?(pid)
          end
        rescue Errno::EAGAIN, SocketError # its queue is full; or this system doesn't name the peer
          0
        rescue SystemCallError, ArgumentError # none is there; or the path is too long for a socket
          nil
        end

        # Two names of one file are one.
        def identity
          identity_of(File.lstat(@lock))
        rescue SystemCallError
          nil
        end

        def identity_of(stat) = [stat.dev, stat.ino]

        # For operators, and for the message of a swarm that is refused the name.
        def write
          @file.truncate(0)
          @file.pwrite([Process.pid, *(NO_SOCKET unless @socket)].join(" "), 0)
        rescue Errno::EFBIG, Errno::ENOSPC
          nil
        end
      end
    end
  end
end
