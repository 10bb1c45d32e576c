# frozen_string_literal: true

module Skep
  class Guest
    # Names a process of this host so that no later one has the name, although pids are reused: for
    # rows in a database that outlive the process.
    #
    #   ProcessName.own   # => "4711/8812345/4026531836": pid, start, namespace; or only "4711"
    #   ProcessName.gone?("4711/8812345/4026531836")   # true once it has ended, reaped or not
    #   ProcessName.gone?(nil)                         # false: it isn't known
    #   ProcessName.here?("4711/8812345/4026530001")   # false: that process is in another container
    #
    # Of a process in another container `gone?` is false, as its pid says nothing here.
    module ProcessName
      class << self
        def own = [Process.pid, *stat(Process.pid)&.started, *namespace].join("/")

        def here?(name)
          theirs = name.to_s.split("/")[2]
          theirs.nil? || theirs == namespace
        end

        def gone?(name)
          pid, started = name.to_s.split("/").map(&:to_i)
          return false unless here?(name)
          return !pid.nil? && gone_without_proc?(pid) unless started

          stat = stat(pid)
          stat.nil? || stat.started != started || stat.state.start_with?("Z", "X")
        end

        private

        # Returns nil without /proc.
        def namespace
          File.readlink("/proc/self/ns/pid")[/\d+/]
        rescue SystemCallError
          nil
        end

        # Returns nil if there is no such process, or no /proc.
        def stat(pid) = OS::ProcessState::Stat.of("/proc/#{pid}/stat")

        def gone_without_proc?(pid)
          Skep.pidfd(pid).close
          false
        rescue Errno::ESRCH
          true
        end
      end
    end
  end
end
