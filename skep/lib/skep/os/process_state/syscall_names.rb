# frozen_string_literal: true

module Skep
  module OS
    class ProcessState
      # Names the system call that a thread is in, if it is one that can block.
      #
      #   SyscallNames.of(pid, "/proc/42/task/42")   # => "read(5) pipe:[1234]", "running", nil
      #
      # Others are given by number. Sources: proc(5), the kernel's syscall tables.
      module SyscallNames
        # Calls whose first argument is a descriptor.
        ON_FILES = { "x86_64" => { 0 => "read", 1 => "write", 17 => "pread64", 18 => "pwrite64",
                                   19 => "readv", 20 => "writev", 42 => "connect", 43 => "accept",
                                   44 => "sendto", 45 => "recvfrom", 46 => "sendmsg",
                                   47 => "recvmsg", 72 => "fcntl", 73 => "flock", 74 => "fsync",
                                   75 => "fdatasync", 232 => "epoll_wait", 281 => "epoll_pwait",
                                   288 => "accept4" },
                     "aarch64" => { 22 => "epoll_pwait", 25 => "fcntl", 32 => "flock", 63 => "read",
                                    64 => "write", 65 => "readv", 66 => "writev", 67 => "pread64",
                                    68 => "pwrite64", 82 => "fsync", 83 => "fdatasync",
                                    202 => "accept", 203 => "connect", 206 => "sendto",
                                    207 => "recvfrom", 211 => "sendmsg", 212 => "recvmsg",
                                    242 => "accept4" } }.freeze
        OTHERS = { "x86_64" => { 7 => "poll", 23 => "select", 34 => "pause", 35 => "nanosleep",
                                 61 => "wait4", 65 => "semop", 128 => "rt_sigtimedwait",
                                 130 => "rt_sigsuspend", 202 => "futex", 219 => "restart_syscall",
                                 230 => "clock_nanosleep", 247 => "waitid", 257 => "openat",
                                 270 => "pselect6", 271 => "ppoll", 449 => "futex_waitv" },
                   "aarch64" => { 56 => "openat", 72 => "pselect6", 73 => "ppoll", 95 => "waitid",
                                  98 => "futex", 101 => "nanosleep", 115 => "clock_nanosleep",
                                  128 => "restart_syscall", 133 => "rt_sigsuspend",
                                  137 => "rt_sigtimedwait", 193 => "semop", 260 => "wait4",
                                  449 => "futex_waitv" } }.freeze
        MACHINE = RbConfig::CONFIG["host_cpu"]
        private_constant :ON_FILES, :OTHERS, :MACHINE

        class << self
          def of(pid, directory)
            text = ProcessState.read("#{directory}/syscall") or return
            number, argument = text.split
            return "running" if number == "running"
            return if number == "-1" # in a page fault, or stopped outside of a call

            name(pid, number.to_i, argument.to_i(16))
          end

          private

          def name(pid, number, argument)
            name = ON_FILES.fetch(MACHINE, {})[number]
            return OTHERS.fetch(MACHINE, {}).fetch(number) { "system call #{number}" } unless name

            ["#{name}(#{argument})", file(pid, argument)].compact.join(" ")
          end

          # Reads the link, which opens nothing.
          def file(pid, descriptor)
            File.readlink("/proc/#{pid}/fd/#{descriptor}")
          rescue SystemCallError
            nil
          end
        end
      end
      private_constant :SyscallNames
    end
  end
end
