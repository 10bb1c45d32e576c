# frozen_string_literal: true

require "etc"

# Drops a node's privileges for good: `user`, `group` and `umask` of the configuration. With
# `core_dump` it allows a core dump.
#
#   Privileges.new(config).assume if config.privileges?
#
# Only root may change user; other users get a BootError. setgroups(2), setgid(2), setuid(2).
module Skep
  class Swarm
    module Runtime
      class Privileges
        # The configuration names a user or group that this process can't become.
        class Refused < BootError
          def initialize(wanted:, cause:)
            super("can't become #{wanted}: #{cause}; " \
                  "run as root, or name a user and group that exist")
          end

          def exit_code = ExitCode::CONFIGURATION
        end

        def initialize(config)
          @config = config
        end

        def assume
          File.umask(@config.umask) if @config.umask
          change if @config.user || @config.group
          allow_core if @config.core_dump
          self
        rescue ArgumentError, Errno::EPERM => e # there is no such name, or we aren't root
          raise Refused.new(wanted:, cause: e.message)
        end

        private

        def change
          user = @config.user && Etc.getpwnam(@config.user)
          gid = @config.group ? Etc.getgrnam(@config.group).gid : user&.gid
          user ? Process.initgroups(user.name, gid) : Process.groups = [gid]
          Process::GID.change_privilege(gid)
          Process::UID.change_privilege(user.uid) if user
          OS::ProcessTree::ParentDeathWatch.renew # the kernel forgets it when the user changes
        end

        # A core as large as the system allows.
        def allow_core
          most = Process.getrlimit(:CORE).last
          Process.setrlimit(:CORE, most, most)
          OS::ProcessTree::Prctl.dumpable!
        end

        def wanted
          [@config.user && "user #{@config.user}", @config.group && "group #{@config.group}"]
            .compact.join(", ")
        end
      end
    end
  end
end
