# frozen_string_literal: true

require "etc"
require "fileutils"

# The directory of a swarm's control socket, lock file and heap size hint. Checks that no other user
# can replace files in it. Another user could answer in place of the swarm, or make the supervisor
# overwrite files of its user.
#
#   RunDirectory.path                                   # => "/run/skep"
#   RunDirectory.new("/run/skep").use                   # creates and checks it; raises PathUnusable
#   RunDirectory.new("/run/skep").check                 # for a client: only checks it
#   RunDirectory.new("/srv/app/tmp", named: true).use   # `control:` names a path in it
#
# The directory must belong to this user or to root. If others may write to it, it must have the
# sticky bit, which protects files from other users. It must not be a symbolic link. The directory
# of a `control:` path may be a link, and its group may write to it: both are common for an
# application's directories, and the user has chosen that path.
module Skep
  class Swarm
    module Definition
      class RunDirectory
        # The file or directory can't be used.
        class PathUnusable < Skep::Error
          ADVICE = "name a path in a directory that can be written to"
          private_constant :ADVICE

          attr_reader :obstacle, :advice # the message's parts

          def initialize(path:, error:, what: "control path", advice: ADVICE)
            @obstacle = "the #{what} #{path} can't be used, #{error}"
            @advice = advice
            super("#{@obstacle}: #{advice}")
          end

          def exit_code = ExitCode::CONFIGURATION
        end

        # It can't be made or written to, but nothing in it is unsafe.
        class Unavailable < PathUnusable
        end

        # SKEP_RUN_DIR is set but empty, so the socket would be in the root directory.
        class Missing < Skep::Error
          def initialize
            super("SKEP_RUN_DIR is empty: set it to the directory of the control socket, " \
                  "or unset it")
          end

          def exit_code = ExitCode::CONFIGURATION
        end

        MODE = 0o700
        ADVICE = "make it yours with mode 0700, or name another by SKEP_RUN_DIR"
        VOLUME = "mount a volume that this user can write to, such as a tmpfs at /run/skep, and " \
                 "set SKEP_RUN_DIR=/run/skep/own"
        private_constant :MODE, :ADVICE, :VOLUME

        # Returns the directory of control sockets: /run/skep for root, else $XDG_RUNTIME_DIR/skep,
        # else /tmp/skep-UID.
        def self.path(env: ENV, uid: Process.uid)
          named = env["SKEP_RUN_DIR"]
          raise Missing if named == ""
          return named if named
          return "/run/skep" if uid.zero?

          session = env["XDG_RUNTIME_DIR"].to_s # its specification: empty is the same as unset
          session.empty? ? "/tmp/skep-#{uid}" : File.join(session, "skep")
        end

        def self.named_by_environment?(env: ENV) = env.key?("SKEP_RUN_DIR")

        # Returns true if this process may trust the owner of a file. asking: the process is only a
        # client. Then root trusts every owner, because a service's socket belongs to its user.
        def self.trusted?(stat, asking: false)
          [0, Process.euid].include?(stat.uid) || (asking && Process.euid.zero?)
        end

        def initialize(path, named: false)
          @path = path
          @named = named
        end

        # Creates the directory if it is missing, checks it and returns its path.
        def use
          create
          verify(asking: false)
          @path
        rescue SystemCallError => e
          refuse(e.message.sub(/ @ .*/, "").downcase, advice: elsewhere, as: Unavailable)
        end

        # Returns the path, for a client of the swarms there. The directory may be missing.
        def check
          verify(asking: true)
          @path
        rescue Errno::ENOENT, Errno::ENOTDIR, Errno::EACCES # no swarm of this user is there
          @path
        rescue SystemCallError => e
          refuse(e.message.sub(/ @ .*/, "").downcase)
        end

        private

        def create
          FileUtils.mkdir_p(File.dirname(@path))
          Dir.mkdir(@path, MODE)
        rescue Errno::EEXIST
          nil
        end

        def verify(asking:)
          stat = @named ? File.stat(@path) : File.lstat(@path)
          refuse("it is a symbolic link") if stat.symlink?
          refuse("it is no directory") unless stat.directory?
          refuse("it belongs to #{user(stat.uid)}") unless RunDirectory.trusted?(stat, asking:)
          refuse("#{writers(stat)} can write to it") if exposed?(stat)
        end

        # Containers have read-only file systems and users without a home: the advice is a directory
        # that can be created there.
        def elsewhere
          parents = [ENV["XDG_RUNTIME_DIR"].to_s, "/run/user/#{Process.euid}", "/dev/shm",
                     "/var/tmp", ENV["HOME"].to_s, Dir.pwd]
          writable = parents.find do |path|
            path.start_with?("/") && !@path.start_with?("#{path}/") && File.directory?(path) &&
              File.writable?(path)
          end
          writable ? "set SKEP_RUN_DIR=#{File.join(writable, "skep-#{Process.euid}")}" : VOLUME
        rescue SystemCallError # no working directory
          VOLUME
        end

        def exposed?(stat) = (stat.mode & (@named ? 0o002 : 0o022)).positive? && !stat.sticky?
        def writers(stat) = (stat.mode & 0o002).zero? ? "its group" : "everybody"

        def user(uid)
          "user #{Etc.getpwuid(uid).name}"
        rescue ArgumentError # the uid has no name
          "user #{uid}"
        end

        def refuse(error, advice: ADVICE, as: PathUnusable)
          advice = "name another path with control:" if @named
          what = @named ? "directory of the control path" : "run directory"
          raise as.new(what:, path: @path, error:, advice:)
        end
      end
    end
  end
end
