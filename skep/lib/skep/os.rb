# frozen_string_literal: true

# System calls and facts about processes. No policy: callers decide when to signal, wait or restart.
#
#   require "skep/os"
#   pidfd = Skep.pidfd(pid)
#   pidfd.wait(timeout: 5)         # => nil, a Process::Status or a Pidfd::UnknownStatus
#   Skep::OS::Memory.of(pid).uss   # => bytes
#   Skep::OS.native?               # => true if the C extension is loaded
#
# Pidfd refers to one process; EventLoop waits for IOs and timers; SharedPage is memory that
# processes share. Memory, Cgroup and ProcessState read /proc. ProcessTree configures this process'
# relation to its parent, group and descendants. Generation detects forks.
#
# Each class is complete in Ruby: its module Fallback, whose comment lists the limits. The C
# extension (skep/ext/skep) then overrides what the kernel does better. SKEP_PURE=1 disables it.
module Skep
  module OS
    # Returns monotonic seconds: the clock of each `now` and `deadline` in skep.
    def self.now = @machine.now

    # Returns the same with the seconds in which the host was suspended: for what happens elsewhere.
    def self.now_with_suspends = @machine.now_with_suspends

    # What skep runs on. Returns another machine only within #run_on.
    def self.machine = @machine

    # Runs the block on that machine: for simulations, in a process without other threads.
    def self.run_on(machine)
      before, @machine = @machine, machine
      yield
    ensure
      @machine = before
    end

    # Returns both ends of a pipe, or raises without leaving an open descriptor. IO.pipe itself,
    # interrupted by an exception from another thread (Timeout), closes descriptors that their IOs
    # close again when they are collected, when another IO may have them (io_s_pipe in io.c).
    def self.pipe = Thread.handle_interrupt(Object => :never) { IO.pipe }

    # Returns the number of a signal: 15 for 15, :TERM, "TERM" and "SIGTERM". Raises ArgumentError
    # for an unknown name.
    def self.signal_number(signal)
      return signal if signal.is_a?(Integer)

      Signal.list.fetch(signal.to_s.delete_prefix("SIG")) do
        raise ArgumentError, "unknown signal #{signal.inspect}: `kill -l` lists them"
      end
    end

    # Returns true if the C extension is loaded. On an old kernel some classes may still use their
    # fallback: see Pidfd.native?.
    def self.native? = @native

    # Loads a part of the C extension over the fallbacks and returns true, or returns false if
    # SKEP_PURE=1 or it was never built. Warns once if it exists but doesn't load, as when it was
    # built for another Ruby.
    def self.__load(feature, env = ENV)
      return false if env["SKEP_PURE"] == "1"

      require feature
      true
    rescue LoadError => error
      warn("skep: the C extension doesn't load, so Ruby does its work: #{error.message}") if
        error.path != feature
      false
    end
  end
end

require "skep/version"
require "skep/error"
require "skep/os/errors"
require "skep/os/machine"
require "skep/os/pidfd"
require "skep/os/event_loop"
require "skep/os/shared_page"
require "skep/os/process_tree"
require "skep/os/process_state"
require "skep/os/memory"
require "skep/os/cgroup"
require "skep/os/generation"
require "skep/os/stack_sampler"

module Skep
  module OS
    @native = __load("skep/skep_ext")
  end

  # Returns a handle on one process, which a later reuse of its number does not affect.
  # Raises Errno::ESRCH if there is no such process.
  def self.pidfd(pid) = OS::Pidfd.open(pid)
end
