# frozen_string_literal: true

# What Linux says about a process. Facts and system calls, no opinions.
#
#   require "skep/os"
#   pidfd = Skep.pidfd(pid)
#   pidfd.wait(timeout: 5)         # => nil, a Process::Status or a Pidfd::UnknownStatus
#   Skep::OS::Memory.of(pid).uss   # => bytes
#   Skep::OS.native?               # => true when the C of ext/skep is at work
#
# Each class is written in Ruby first (its module Fallback, whose preface lists what it can't do);
# the C then overrides what the kernel does better. SKEP_PURE=1 keeps to the fallbacks.
# It decides nothing: when to signal, wait or restart is up to those who use it.
module Skep
  module OS
    # Monotonic seconds, the clock of every `now` and `deadline` in skep.
    #
    #: () -> Float
    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # IO.pipe, whole or not at all. Ruby's own, cut short by an exception from another thread (as by
    # Timeout), closes descriptors that their IOs close again when they are collected, whoever's
    # they are by then (io_s_pipe in Ruby's io.c).
    #
    #: () -> [IO, IO]
    def self.pipe = Thread.handle_interrupt(Object => :never) { IO.pipe }
  end
end

require "skep/version"
require "skep/error"
require "skep/os/errors"
require "skep/os/signal_number"
require "skep/os/pidfd"
require "skep/os/poller"
require "skep/os/event_loop"
require "skep/os/shared_page"
require "skep/os/prctl"
require "skep/os/parent_death_watch"
require "skep/os/process_group"
require "skep/os/oom_score"
require "skep/os/file_lock"
require "skep/os/signal_handoff"
require "skep/os/memory"
require "skep/os/statm"
require "skep/os/cgroup"
require "skep/os/process_state"
require "skep/os/cpu_time"
require "skep/os/generation"
require "skep/os/huge_pages"
require "skep/os/heap_page_slab"
require "skep/os/fork_probe"
require "skep/os/ready_now"
require "skep/os/native"

module Skep
  # A handle on one process, which no reuse of its number can turn to another.
  # Raises Errno::ESRCH when there is no such process.
  #
  #: (Integer pid) -> OS::Pidfd
  def self.pidfd(pid) = OS::Pidfd.open(pid)
end
