# frozen_string_literal: true

require "etc"
require "skep/os/process_state/stat"
require "skep/os/process_state/syscall_names"
require "skep/os/process_state/thread_state"
require "skep/os/process_state/file_descriptor"

# The state of a process as the kernel shows it: whether it runs, sleeps or is stopped, and what its
# threads wait for. It diagnoses a process that doesn't respond.
#
#   state = Skep::OS::ProcessState.of(pid)   # nil once it is dead, and without /proc
#   state.state        # => "running", "sleeping", "uninterruptible", "stopped", "traced", …
#   state.tracer       # => pid of its tracer
#   state.rss          # => bytes
#   state.tasks        # => its threads, the main one first: ThreadState
#   state.to_plain
#   Skep::OS::ProcessState.cpu_seconds(pid)   # => 12.34
#
# Stat is the line that a process and a thread have; SyscallNames names system calls; FileDescriptor
# lists what a process has open.
#
# It reads only files that never block. /proc/PID/maps, smaps, cmdline, environ and mem wait for a
# lock that a process may hold while it waits for its disk; stat, statm, status, comm, wchan,
# syscall and stack don't. Facts without permission are nil: system calls and kernel stacks are
# readable by the process' own user and by root. Source: proc(5).
module Skep
  module OS
    class ProcessState
      MOST = 64 # tasks that are read
      private_constant :MOST

      class << self
        def of(pid)
          tids = OS.machine.children("/proc/#{pid}/task").map(&:to_i)
          tasks = [pid, *(tids - [pid])].first(MOST).filter_map { |tid| ThreadState.of(pid, tid) }
          return if tasks.empty?

          new(tasks, threads: tids.size, rss: Memory::Statm.of(pid)&.rss,
                     tracer: tracer(pid)).freeze
        rescue SystemCallError
          nil # dead, or this system has no /proc
        end

        # Returns how long the threads of a process have run so far, in user and kernel mode,
        # without the children it reaped; nil once it is dead, and without /proc.
        def cpu_seconds(pid) = Stat.of("/proc/#{pid}/stat")&.cpu

        # Returns the text of a file of /proc in UTF-8; nil if it is missing or not readable. The
        # kernel cuts the name of a thread after 15 bytes, also within a character.
        def read(path)
          OS.machine.read(path).dup.force_encoding(Encoding::UTF_8).scrub
        rescue SystemCallError
          nil
        end

        private

        def tracer(pid)
          read("/proc/#{pid}/status")&.slice(/^TracerPid:\s+([1-9]\d*)/, 1)&.to_i
        end
      end

      attr_reader :tasks
      attr_reader :threads # the number of all; `tasks` has the first 64
      attr_reader :rss
      attr_reader :tracer

      def initialize(tasks, threads:, rss:, tracer:)
        @tasks = tasks
        @threads = threads
        @rss = rss
        @tracer = tracer
      end

      # Returns the state of its main thread.
      def state = tasks.first.state

      def stopped? = %w[stopped traced].include?(state)

      def to_plain
        { state:, tracer:, rss:, tasks: tasks.map(&:to_plain) }.compact
      end

      def inspect = "#<#{self.class} #{state} threads=#{threads} rss=#{rss}>"
    end
  end
end
